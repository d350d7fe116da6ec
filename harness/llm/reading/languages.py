"""Table of the words by which a statement, denial or doubt about an answer is recognised, per language.

A ``*`` at the end of a word matches any ending. Words in Chinese, Japanese and Thai need no spaces around
them. To add a language, add an entry to `LANGUAGES`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, fields
from functools import cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Words and phrases of one language, by role; each field is a list separated by commas.

    Attributes
    ----------
    noun
        Nouns for an answer or an option.
    verb
        Words between the noun and the option, for example "is".
    right
        Words that say that an option is right.
    subject
        Subjects of a statement that names a class, for example "it", "this patient".
    choose
        Verbs by which the writer chooses an option.
    final
        Words that introduce a conclusion.
    deny, wrong
        Words of negation, and words that say that an option is wrong.
    assured
        Phrases that contain a negation but deny nothing, for example "no doubt".
    doubt
        Words of doubt or condition, or about other people's answers; a clause with such a word states no
        answer.
    reason
        Words that introduce an explanation.
    but
        Words that begin a contrasting part of a sentence.
    joins
        Words for "and" and "or".
    before_number, after_number
        Words that make a number the limit of a range, for example "less than" and "or more".
    contrast
        Words that begin the denied part of a clause, for example "rather than".
    instead
        Words that end the denied part of a clause, for example Korean 아니라.
    retract
        Words that retract the previous sentence.
    """

    noun: str = ""
    verb: str = ""
    right: str = ""
    subject: str = ""
    choose: str = ""
    final: str = ""
    deny: str = ""
    wrong: str = ""
    assured: str = ""
    doubt: str = ""
    reason: str = ""
    but: str = ""
    joins: str = ""
    before_number: str = ""
    after_number: str = ""
    contrast: str = ""
    instead: str = ""
    retract: str = ""


LANGUAGES: dict[str, Language] = {
    "English": Language(
        noun="answer,answers,option,choice,solution,response,prediction,verdict,diagnosis,label,category,"
        "class,classification,conclusion,selection,pick,decision,result,ans,letter,statement",
        verb="is,are,be,would be,must be,should be,has to be,is to be,was,remains,seems,appears,"
        "appears to be,becomes,belongs to,falls under,falls into,belongs in,should see,should be seen by,"
        "needs,corresponds to,points to,indicates,equals,matches,goes to,classified as,labelled as,"
        "labeled as,categorized as,categorised as,'s,makes,expresses,conveys,reflects,describes,means,"
        "should be referred to,referred to,refer to,should go to,is about",
        right="correct,right,best,true,accurate,appropriate,answer,fits,matches,likely,way to go,choice,"
        "suitable,supported,winner,what,where,✅,✓,✔,☑,the one,right one,correct one",
        subject="it,it's,that's,this,that,these,the,here's,we,she,he,they,patient,everything,evidence,i",
        choose="choose,chose,chosen,select,selected,pick,picked,go with,going with,went with,opt for,"
        "settle on,vote for,vote,say,answer,answering,conclude,lean towards,leaning towards,lean toward,"
        "stick with,bet on,believe,think,going for,go for,assign,classify,i'd say,decide on,recommend,"
        "choosing,rate,label,tag,mark,deem,categorize,categorise,find,suggest,picking,selecting,voting for,"
        "prescribe,send,i give,i'd give,i would give,would start",
        final="therefore,thus,hence,so,finally,in conclusion,to conclude,ultimately,overall,in summary,"
        "final,consequently,accordingly,in short,conclusion",
        deny="not,no,never,cannot,neither,nor,without,n't,exclude*,excluding,rule* out,ruling out,"
        "ruled out,reject*,eliminat*,doubt*,hardly,against,except,unlike,rather than,instead of,lacks,"
        "absent,absence,disagree*,dismiss*,non,nothing,none,less likely,least likely,opposed to,other than,"
        "anything but,contrary to,discard*,fails,cross* out,refute*,far from,barely,as opposed",
        wrong="wrong,incorrect*,false,mistake*,unlikely,inaccurate,implausible,erroneous*,distractor*,"
        "untrue,improbable,inappropriate,invalid,misleading,trap,tempting,irrelevant,misconception*,error*,"
        "pitfall*,mistaken*,common,contraindicated,❌,✗,✘,✖,avoid,allergic,out of the question,worst,"
        "weakest,poorest,least",
        assured="no doubt,without a doubt,without doubt,without any doubt,beyond doubt,no question,"
        "not only,no other than,none other than,nothing but,doubtless,undoubtedly,can't be anything but,"
        "cannot be anything but,cannot be anything other than,nothing other than,not just,why not,"
        "without hesitation,not surprisingly,doubtlessly,more often than not,last but not least,"
        "if i have to choose,if i had to choose,if i had to guess,if forced to choose,if i must choose,"
        "if i must pick,if i had to pick,if i have to pick,if i have to guess,can't be anything other than",
        doubt="might,may,could,possibly,perhaps,maybe,either,if,unless,not sure,unsure,uncertain,whether,"
        "depends,students,people,many,others,someone,assuming,suppose,supposing,were,had,another,wonder*,"
        "first thought,initially,at first,at first glance,tempted,previously,alternatively,alternative,"
        "second choice,runner-up,compare*,compared,versus,vs,next question,would have been,used to,usually,"
        "often,sometimes,can be,can also,hypothetically,otherwise,guess between,torn between,except that,"
        "similar to,example,possibility,possible,next most,second most,might as well,would give,would be,"
        "everyone,everybody,colleagues,one might,previous answer,previous choice,earlier answer,"
        "initial answer,original answer,former answer,first answer,old answer,first guess,initial guess",
        reason="because,since,due to,given,for the reason,owing to,based on",
        but="but,however,whereas,while,although,though,yet,still,rather",
        joins="and,or,and/or,as well as,plus",
        before_number="less than,more than,fewer than,greater than,larger than,smaller than,higher than,"
        "lower than,older than,younger than,at least,at most,no more than,up to,minus",
        after_number="or more,or less,or fewer,or higher,or lower,or greater,or older,or younger,and above,"
        "or above,and below,or below,and over,or over,or under",
        contrast="rather than,instead of,as opposed to,unlike",
        retract="wait,actually,correction,scratch that,hold on,on second thought,let me reconsider,"
        "then again,it depends,i take that back,no wait,sorry,i was wrong,oops,let me correct,or rather,"
        "i changed my mind,i change my answer,on reflection",
    ),
    "German": Language(
        noun="antwort,option,lösung,wahl,auswahl,ergebnis,diagnose,kategorie,klasse,fazit",
        verb="ist,sind,lautet,wäre,wird,bleibt,gehört zu,muss,sein,heißt,heisst,gehört zur,gehört in,"
        "gehört in die,fällt unter",
        right="richtig*,korrekt*,beste,besten,zutreffend*,stimmt,passt,wahr,passendste,wahrscheinlichste",
        subject="es,das,dies,der,die,diese,dieser,hier",
        choose="wähle,nehme,entscheide mich für,entscheide,tippe auf,würde,sage,denke,glaube,halte,bin für,"
        "wähle ich,entscheide ich mich für,entscheiden,mich für",
        final="daher,also,somit,folglich,deshalb,demnach,endgültige,abschließend,insgesamt,schließlich",
        deny="nicht,kein*,nie,niemals,weder,noch,ohne,ausgeschlossen,ausschließen,anstatt,statt,außer,"
        "entfällt,anstelle von",
        wrong="falsch*,inkorrekt*,unwahrscheinlich*,unzutreffend*,fehler*,scheidet aus,irrtum",
        assured="kein zweifel,ohne zweifel,zweifellos,nicht nur,keine frage,zweifelsfrei",
        doubt="könnte,vielleicht,eventuell,möglicherweise,wenn,falls,entweder,ob,unsicher,viele,manche,"
        "zunächst,wären,hätte,kommt darauf an,oft",
        reason="weil,da,denn,wegen,aufgrund",
        but="sondern,aber,jedoch,während,obwohl,hingegen",
        joins="und,oder",
        before_number="weniger als,mehr als,kleiner als,größer als,mindestens,höchstens,minus",
        after_number="oder mehr,oder weniger",
        contrast="statt,anstatt,anstelle von",
        retract="moment,korrektur,halt,besser gesagt,es kommt darauf an,ich korrigiere",
    ),
    "French": Language(
        noun="réponse,reponse,option,choix,solution,diagnostic,catégorie,classe,conclusion",
        verb="est,sont,serait,doit être,reste,c'est,relève de,correspond à,sera",
        right="correct*,bon,bonne,juste,exact*,meilleur*,vrai*,appropriée,approprié,plus probable",
        subject="il,ce,c'est,cela,ceci,le,la,cette,l,s'agit d*",
        choose="choisis,choisirais,sélectionne,opte pour,opterais pour,pense,dirais,retiens,prends,crois,"
        "vote pour",
        final="donc,ainsi,par conséquent,finalement,enfin,en conclusion,finale,en résumé",
        deny="ne,n,pas,jamais,non,ni,sans,exclu*,exclut,aucun*,écart*,plutôt que,au lieu de,contrairement,"
        "sauf",
        wrong="faux,fausse,fausses,incorrect*,erron*,improbable*,erreur*,inexact*,mauvais*",
        assured="sans doute,sans aucun doute,aucun doute,pas seulement,non seulement",
        doubt="peut,pourrait,peut-être,si,soit,dépend,beaucoup,certains,éventuellement,hésite,d'abord",
        reason="car,parce que,parce qu,puisque,puisqu,en raison,à cause,étant donné",
        but="mais,cependant,tandis que,alors que,toutefois,bien que",
        joins="et,ou",
        before_number="moins de,plus de,au moins,au plus",
        after_number="ou plus,ou moins",
        contrast="plutôt que,au lieu de",
        retract="attendez,attends,en fait,correction,ça dépend",
    ),
    "Spanish": Language(
        noun="respuesta,opción,opcion,elección,alternativa,solución,diagnóstico,categoría,clase,conclusión",
        verb="es,son,sería,debe ser,corresponde a,pertenece a,será,queda,trata de",
        right="correct*,mejor,cierto,cierta,verdader*,adecuad*,acertad*,indicada,más probable",
        subject="esto,este,esta,eso,ese,la,el,se,lo",
        choose="elijo,elegiría,escojo,escogería,selecciono,opto por,optaría por,diría,creo,digo,"
        "me quedo con,me decanto por,voto por,pienso,marco",
        final="por lo tanto,por tanto,así que,entonces,finalmente,en conclusión,final,por consiguiente,"
        "en resumen",
        deny="no,nunca,ni,sin,exclu*,descart*,ningun*,ningún,tampoco,en lugar de,en vez de,excepto,salvo",
        wrong="incorrect*,falso,falsa,falsas,equivocad*,erróne*,improbable*,error",
        assured="sin duda,no hay duda,no solo,no sólo,sin lugar a dudas",
        doubt="podría,puede,quizás,quizá,tal vez,si,depende,muchos,algunos,posiblemente,duda,dudo,"
        "al principio",
        reason="porque,ya que,debido a,dado que,pues,puesto que",
        but="pero,sino,mientras,sin embargo,aunque",
        joins="y,o,e,u",
        contrast="en lugar de,en vez de,y no",
        retract="espera,en realidad,corrección,perdón,depende",
    ),
    "Italian": Language(
        noun="risposta,opzione,scelta,soluzione,alternativa,diagnosi,categoria,classe,conclusione",
        verb="è,e',sono,sarebbe,deve essere,dev'essere,appartiene a,rientra in,sarà,tratta di,trattasi di",
        right="corrett*,giust*,esatt*,miglior*,vera,vero,adatta,adatto,più probabile,appropriata",
        subject="questo,questa,si,il,la,lo,ciò,quello",
        choose="scelgo,sceglierei,seleziono,opto per,opterei per,direi,dico,credo,penso,voto per,punto su",
        final="quindi,pertanto,dunque,perciò,infine,in conclusione,finale,definitiva,in sintesi",
        deny="non,mai,né,senza,esclud*,esclus*,nessun*,invece di,invece che,piuttosto che,tranne,anziché,"
        "scart*",
        wrong="errat*,sbagliat*,falsa,falso,scorrett*,improbabile,inesatt*,errore",
        assured="senza dubbio,non solo,nessun dubbio,senza alcun dubbio,indubbiamente",
        doubt="potrebbe,può,forse,se,dipende,molti,alcuni,magari,inizialmente,oppure",
        reason="perché,poiché,in quanto,dato che,visto che,siccome",
        but="ma,però,bensì,mentre,tuttavia,sebbene",
        joins="e,o,ed,od",
        contrast="invece di,piuttosto che,anziché,e non",
        retract="aspetta,anzi,in realtà,correzione,dipende",
    ),
    "Portuguese": Language(
        noun="resposta,opção,alternativa,escolha,solução,diagnóstico,categoria,classe,conclusão,letra",
        verb="é,são,seria,deve ser,pertence a,corresponde a,será,trata-se de",
        right="correta,correto,corretas,certa,certo,melhor,verdadeir*,adequad*,mais provável",
        subject="isto,este,esta,isso,essa,esse,a,o",
        choose="escolho,escolheria,seleciono,opto por,optaria por,diria,acho,digo,acredito,fico com,"
        "voto em,marco",
        final="portanto,assim,logo,então,por fim,finalmente,em conclusão,final,por isso,em resumo",
        deny="não,nunca,nem,sem,exclu*,descart*,nenhum*,em vez de,ao invés de,exceto,tampouco",
        wrong="incorret*,errad*,fals*,improváve*,equivocad*,erro",
        assured="sem dúvida,não só,não há dúvida,não apenas,sem sombra de dúvida",
        doubt="poderia,pode,talvez,se,depende,muitos,alguns,possivelmente,caso,inicialmente",
        reason="porque,pois,já que,devido,uma vez que",
        but="mas,porém,enquanto,contudo,embora,e sim",
        joins="e,ou",
        contrast="em vez de,ao invés de,e não",
        retract="espere,na verdade,correção,aliás,depende",
    ),
    "Dutch": Language(
        noun="antwoord,optie,keuze,oplossing,diagnose,categorie,klasse,conclusie",
        verb="is,zijn,zou zijn,moet zijn,luidt,wordt,hoort bij,blijft,moet,behoort tot,hoort bij de,"
        "gaat over,valt onder",
        right="juist*,correct*,goed,goede,beste,waar,waarschijnlijkste,passend*",
        subject="het,dit,dat,de,deze",
        choose="kies,kiezen,zou,ga voor,selecteer,denk,zeg,neem,gok op,stem op",
        final="dus,daarom,derhalve,uiteindelijk,tot slot,kortom,concluderend",
        deny="niet,geen,nooit,noch,zonder,uitgesloten,uitsluiten,in plaats van,behalve,sluit",
        wrong="fout,foute,onjuist*,verkeerd*,onwaarschijnlijk*,incorrect*,vergissing,valt af",
        assured="geen twijfel,zonder twijfel,ongetwijfeld,niet alleen",
        doubt="kan,misschien,mogelijk,als,indien,ofwel,veel,sommige,hangt ervan af,eerst",
        reason="omdat,want,aangezien,doordat,vanwege",
        but="maar,terwijl,echter,hoewel",
        joins="en,of",
        contrast="in plaats van,en niet",
        retract="wacht,eigenlijk,correctie,het hangt ervan af",
    ),
    "Swedish": Language(
        noun="svar,svaret,alternativ,alternativet,val,lösning,diagnos,diagnosen,kategori,slutsats",
        verb="är,blir,måste vara,lyder,bör vara,tillhör,hör till,hör hemma i",
        right="rätt,korrekt,bäst,bästa,riktig*,sant,rätta,troligast,mest sannolika,korrekta",
        subject="det,detta,den,denna",
        choose="väljer,skulle,tror,säger,valde,röstar på",
        final="alltså,därför,således,slutligen,sammanfattningsvis,slutgiltiga,slutliga",
        deny="inte,ej,aldrig,inget,ingen,inga,utan,utesluta*,utesluts,istället för,snarare än,varken,förutom",
        wrong="fel,felaktig*,inkorrekt,osannolik*,falskt,oriktigt",
        assured="utan tvekan,inte bara,ingen tvekan",
        doubt="kan,kanske,om,möjligen,antingen,många,vissa,beror,först",
        reason="eftersom,därför att,på grund av,då",
        but="men,medan,dock",
        joins="och,eller",
        contrast="istället för,snarare än,och inte",
    ),
    "Danish and Norwegian": Language(
        noun="svar,svaret,valg,mulighed,alternativ,alternativet,konklusion",
        verb="er,må være,skal være,blir,bliver,hører til",
        right="rigtig*,korrekt*,riktig*,bedst,bedste,best,beste,rett,rette,sandt",
        subject="det,dette,den,denne",
        choose="vælger,velger,ville,tror,mener",
        final="derfor,altså,endelig,endelige,til slut,således",
        deny="ikke,aldrig,aldri,ingen,intet,uden,uten,udelukke*,utelukke*,i stedet for,hverken,verken",
        wrong="forkert*,feil,galt,usandsynlig*,usannsynlig*",
        assured="uden tvivl,uten tvil,ingen tvivl,ingen tvil,ikke bare,ikke kun",
        doubt="kan,måske,kanskje,hvis,muligvis,enten,mange",
        reason="fordi,siden,på grund af,på grunn av",
        but="men,mens",
        joins="og,eller",
    ),
    "Finnish": Language(
        noun="vastaus,vaihtoehto,vastaukseni",
        verb="on,olisi,täytyy olla",
        right="oikea,oikein,paras,todennäköisin",
        subject="se,tämä",
        choose="valitsen,valitsisin,uskon",
        final="siis,siksi,lopullinen,lopuksi,joten",
        deny="ei,eivät,en,ilman,sijaan,ole",
        wrong="väärä,väärin,virheellinen,epätodennäköi*",
        assured="epäilemättä,ei epäilystäkään",
        doubt="ehkä,voi,voisi,jos,joko",
        reason="koska",
        but="mutta,vaan",
        joins="ja,tai",
    ),
    "Polish": Language(
        noun="odpowiedź,odpowiedzią,odpowiedz,opcja,opcją,wybór,rozwiązanie,rozwiązaniem,diagnoza,wniosek",
        verb="to,jest,brzmi,byłaby,musi być,należy do,będzie",
        right="prawidłow*,poprawn*,właściw*,najlepsz*,słuszn*,dobra,odpowiednia,najbardziej prawdopodobn*",
        subject="to,ten,ta",
        choose="wybieram,wybrałbym,wybrałabym,stawiam na,myślę,uważam,sądzę,głosuję na",
        final="zatem,więc,dlatego,podsumowując,ostateczn*,ostatecznie",
        deny="nie,nigdy,ani,bez,wyklucz*,żaden,żadn*,zamiast,oprócz",
        wrong="błędn*,niepoprawn*,nieprawidłow*,niewłaściw*,fałszyw*,mało prawdopodobn*,błąd,zła",
        assured="bez wątpienia,nie tylko,niewątpliwie,nie ma wątpliwości",
        doubt="może,mogłaby,mogłoby,być może,jeśli,jeżeli,gdyby,albo,zależy,wielu,niektórzy,czy,początkowo",
        reason="ponieważ,bo,gdyż,z powodu",
        but="ale,lecz,natomiast,tylko,a",
        joins="i,lub,oraz",
        contrast="zamiast,a nie",
        retract="czekaj,chwila,jednak,poprawka",
    ),
    "Czech": Language(
        noun="odpověď,odpovědí,možnost,možností,volba,řešení",
        verb="je,zní,by byla,musí být,patří do",
        right="správn*,nejlepší,pravdiv*,vhodn*",
        subject="to,toto,tento,tato",
        choose="vybírám,volím,zvolil bych,myslím,tipuji",
        final="proto,tedy,takže,konečn*,závěrem",
        deny="ne,není,nikdy,ani,bez,vylouč*,vyluč*,žádn*,místo,nelze,kromě",
        wrong="špatn*,nesprávn*,chybn*,nepravděpodobn*,omyl",
        assured="bez pochyby,nejen,nepochybně",
        doubt="může,možná,pokud,jestli,snad,buď,mnoho,závisí,kdyby",
        reason="protože,neboť,jelikož",
        but="ale,nýbrž,zatímco,však",
        joins="a,nebo",
        contrast="místo,a ne",
    ),
    "Russian": Language(
        noun="ответ,ответом,вариант,вариантом,выбор,решение,диагноз,категория,класс,вывод,ответа",
        verb="это,является,будет,есть,должен быть,относится к,остаётся,таков",
        right="правильн*,верн*,верен,лучш*,прав,подход*,наиболее вероятн*,корректн*,верно",
        subject="это,этот,эта,данный",
        choose="выбираю,выбрал,выбрала,выберу,выбрал бы,думаю,считаю,полагаю,склоняюсь к,отвечу,голосую за",
        final="следовательно,поэтому,итак,таким образом,значит,окончательн*,в итоге,итого",
        deny="не,нет,никогда,ни,без,исключ*,нельзя,вместо,кроме,отверг*,отпада*,никак*,нежели,чем",
        wrong="неправильн*,неверн*,ошибочн*,маловероятн*,ложн*,неверен,ошибк*,не подходит",
        assured="без сомнения,не только,несомненно,нет сомнений,вне сомнений",
        doubt="может,возможно,если,либо,зависит,многие,некоторые,бы,сначала,ли,вероятно что",
        reason="потому что,так как,поскольку,ввиду,из-за",
        but="но,однако,тогда как,хотя,зато",
        joins="и,или",
        contrast="а не,вместо,нежели,чем",
        retract="подождите,стоп,точнее,на самом деле,исправление",
    ),
    "Ukrainian": Language(
        noun="відповідь,відповіддю,варіант,вибір,рішення,діагноз,висновок",
        verb="це,є,буде,має бути,належить до",
        right="правильн*,вірн*,найкращ*,коректн*,найімовірніш*",
        subject="це,цей,ця",
        choose="обираю,вибираю,обрав би,думаю,вважаю",
        final="отже,тому,таким чином,остаточн*,відтак",
        deny="не,ні,немає,ніколи,без,виключ*,замість,крім,жодн*",
        wrong="неправильн*,невірн*,помилков*,хибн*,малоймовірн*",
        assured="без сумніву,не лише,не тільки,безсумнівно",
        doubt="може,можливо,якщо,або,залежить,багато,деякі,якби,чи,спочатку",
        reason="тому що,оскільки,бо,адже,через",
        but="але,проте,тоді як,хоча,а",
        joins="і,й,та,або,чи",
        contrast="а не,замість",
    ),
    "Greek": Language(
        noun="απάντηση,επιλογή,λύση,διάγνωση,συμπέρασμα",
        verb="είναι,πρέπει να είναι,θα ήταν,ανήκει στην,ανήκει",
        right="σωστ*,ορθ*,καλύτερ*,αληθ*,πιθανότερ*",
        subject="αυτό,αυτή,το,η,ο",
        choose="επιλέγω,διαλέγω,θα επέλεγα,νομίζω,πιστεύω",
        final="άρα,επομένως,συνεπώς,τελικ*,οπότε",
        deny="δεν,δε,μην,ούτε,χωρίς,αποκλεί*,όχι,αντί,εκτός,κανέν*,αποκλείεται",
        wrong="λάθος,λανθασμέν*,εσφαλμέν*,απίθαν*",
        assured="χωρίς αμφιβολία,όχι μόνο,αναμφίβολα",
        doubt="μπορεί,ίσως,αν,εάν,είτε,εξαρτάται,πολλοί,μάλλον αν",
        reason="επειδή,διότι,γιατί,καθώς,αφού",
        but="αλλά,ενώ,όμως",
        joins="και,ή",
    ),
    "Turkish": Language(
        noun="cevap,cevabı,cevabım,yanıt,yanıtım,yanıtı,seçenek,seçeneği,şık,şıkkı,seçim,sonuç,tanı",
        verb="olmalıdır,olmalı,olur,olacaktır,ise,olarak,dir,dır,dur,dür,tir,tır,tur,tür",
        right="doğru*,en iyi,uygun*,en olası",
        subject="bu,hasta,o",
        choose="seçiyorum,seçerim,seçerdim,düşünüyorum,seçeneğini seçiyorum,diyorum,derim,tercih ediyorum",
        final="dolayısıyla,bu nedenle,sonuç olarak,nihai,bu yüzden,son,kısacası",
        deny="değil*,değildir,yok,yoktur,asla,hariç,olamaz,yerine,dışla*,elen*,dışında,hiçbir,olmaz",
        wrong="yanlış*,hatalı,olası değil,hata",
        assured="şüphesiz,kuşkusuz,şüphe yok,hiç şüphe yok",
        doubt="belki,olabilir,eğer,mümkün,ya,bağlı,bazıları,birçok,mi,mı,mu,mü",
        reason="çünkü,zira,nedeniyle",
        but="ama,fakat,ancak,oysa",
        joins="ve,veya,ya da",
        instead="değil",
        retract="bekle,aslında,düzeltme",
    ),
    "Arabic": Language(
        noun="الإجابة,الاجابة,الجواب,إجابة,إجابتي,جواب,جوابي,الخيار,خيار,اختيار,الحل,التشخيص,الاختيار,"
        "اختياري",
        verb="هي,هو,تكون,يكون,ينتمي إلى",
        right="الصحيح*,صحيح*,الأفضل,الصواب,الأنسب,الأرجح,صحيحة",
        subject="هذا,هذه,إنه,إنها",
        choose="أختار,اختار,سأختار,أعتقد,أرى,أرجح",
        final="لذلك,إذن,إذا,وبالتالي,لذا,النهائي*,بالتالي,ختاما,وعليه",
        deny="ليس,ليست,لا,غير,لم,لن,بدون,نفي,استبعاد,يستبعد,نستبعد,باستثناء,بدلا,بدلاً,أستبعد,مستبعد*,وليس,"
        "وليست",
        wrong="خاطئ*,خطأ,الخاطئ*",
        assured="لا شك,بلا شك,بدون شك,ليس فقط,دون شك",
        doubt="قد,ربما,لو,إما,يعتمد,كثير,بعض,هل,يمكن",
        reason="لأن,لأنه,لأنها,بسبب,حيث,نظرا,نظراً",
        but="لكن,ولكن,بينما,بل,أما",
        joins="و,أو",
    ),
    "Hebrew": Language(
        noun="התשובה,תשובה,תשובתי,אפשרות,האפשרות,הבחירה,בחירה,האבחנה,מסקנה",
        verb="היא,הוא,תהיה,יהיה,שייך ל,זו,זה",
        right="נכונה,נכון,הנכונה,הנכון,הטובה,המתאימה,הסבירה",
        subject="זה,זו,זאת,המטופל",
        choose="אני בוחר,אני בוחרת,בוחר,בוחרת,אבחר,אני חושב,אני חושבת,לדעתי",
        final="לכן,אם כן,לסיכום,הסופית,ולכן,על כן",
        deny="לא,אינה,אינו,אין,בלי,ללא,לשלול,במקום,פרט,אף,שוללים,נשללת,נשלל,ולא",
        wrong="שגויה,שגוי,לא נכונה,לא נכון,טעות,מוטעית",
        assured="ללא ספק,אין ספק,לא רק,בלי ספק",
        doubt="אולי,אם,ייתכן,או,תלוי,רבים,יכול,יכולה,האם,ייתכן ש",
        reason="כי,מכיוון,משום,בגלל,מאחר",
        but="אבל,אלא,אך,ואילו",
        joins="ו,או",
    ),
    "Hindi": Language(
        noun="उत्तर,जवाब,विकल्प,चयन,निष्कर्ष,निदान",
        verb="है,हैं,होगा,होना चाहिए,होगी",
        right="सही,सर्वोत्तम,ठीक,सबसे अच्छा,उचित",
        subject="यह,ये",
        choose="चुनता हूँ,चुनती हूँ,चुनूंगा,चुनूँगा,चुनूंगी,मानता हूँ,चुनता हूं",
        final="इसलिए,अतः,अंततः,अंतिम,निष्कर्षतः",
        deny="नहीं,ना,न,बिना,के बजाय,मत,सिवाय,बाहर",
        wrong="गलत,ग़लत,असत्य,असंभव",
        assured="निस्संदेह,कोई संदेह नहीं,बेशक,इसमें कोई संदेह नहीं",
        doubt="शायद,अगर,यदि,या,सकता,निर्भर,कई,कुछ,क्या,सकती",
        reason="क्योंकि,चूंकि,कारण",
        but="लेकिन,बल्कि,जबकि,परंतु,किंतु",
        joins="और,या",
    ),
    "Vietnamese": Language(
        noun="đáp án,câu trả lời,lựa chọn,phương án,kết luận,chẩn đoán",
        verb="là,phải là,sẽ là,thuộc",
        right="đúng,chính xác,đúng nhất,tốt nhất,phù hợp nhất,hợp lý nhất",
        subject="đây,đó,bệnh nhân",
        choose="chọn,tôi chọn,tôi nghĩ,xin chọn",
        final="vì vậy,do đó,vậy,cuối cùng,kết luận,nên,tóm lại",
        deny="không,chẳng,chưa,loại trừ,thay vì,trừ,ngoại trừ,loại bỏ,chứ không",
        wrong="sai,không đúng,nhầm,sai lầm",
        assured="không nghi ngờ gì,chắc chắn,không chỉ",
        doubt="có thể,nếu,hoặc,tùy,nhiều người,một số,có lẽ",
        reason="vì,bởi vì,do,bởi",
        but="nhưng,mà,trong khi,tuy nhiên",
        joins="và,hoặc,hay",
        contrast="thay vì,chứ không",
    ),
    "Indonesian": Language(
        noun="jawaban,jawabannya,pilihan,opsi,kesimpulan,diagnosis,jawaban saya,jawab",
        verb="adalah,ialah,yaitu,seharusnya,termasuk",
        right="benar,tepat,betul,terbaik,paling tepat,paling sesuai",
        subject="ini,itu,pasien",
        choose="pilih,memilih,saya kira,menurut saya,saya pikir,saya memilih",
        final="jadi,maka,karena itu,oleh karena itu,akhir,kesimpulannya,dengan demikian",
        deny="bukan,bukanlah,tidak,tanpa,kecuali,mengecualikan,tak,daripada,alih-alih,disingkirkan,"
        "dikesampingkan",
        wrong="salah,keliru,kurang tepat,kesalahan",
        assured="tidak diragukan,tanpa ragu,tidak diragukan lagi,bukan hanya",
        doubt="mungkin,bisa,jika,kalau,atau,tergantung,banyak,beberapa,apakah,bisa jadi",
        reason="karena,sebab,sehingga",
        but="tetapi,tapi,melainkan,sedangkan,namun",
        joins="dan,atau",
        contrast="daripada,alih-alih",
    ),
    "Chinese": Language(
        noun="答案,回答,选项,選項,选择,選擇,结论,結論,诊断",
        verb="是,为,為,应为,應為,应该是,應該是,应是,就是,属于,屬於",
        right="正确,正確,对的,對的,最佳,最合适,最合適,最符合,答案,成立,最可能,最好",
        subject="这,這,该,此,患者,本题",
        choose="选,選,我选,我選,我认为,我認為,故选,应选",
        final="因此,所以,综上,綜上,故,最终,最終,总之,由此",
        deny="不,没,沒,无,無,非,排除,除了,而非,别,未,否",
        wrong="错,錯,误,誤",
        assured="毫无疑问,毫無疑問,不仅,不僅,无疑,無疑",
        doubt="可能是,也许,也許,如果,或许,或許,要么,取决,很多人,有人,吗,嗎,假如,若,有些人,似乎,是否,不确定,无法确定",
        reason="因为,因為,由于,由於,理由",
        but="而是,但是,但,然而,而",
        joins="和,或,与,與,及,、,还是",
        contrast="而非,而不是",
        retract="等等,不对,更正,其实",
    ),
    "Japanese": Language(
        noun="答え,正解,回答,解答,選択肢,結論,診断,正答",
        verb="は,が,です,である,となり,でしょう,だ",
        right="正しい,正解,正答,適切,最適,答え,妥当,該当",
        subject="これ,この,それ",
        choose="選び,選択し,選ぶ,思い,考え,を選",
        final="したがって,よって,ゆえに,以上より,最終,つまり,結論として",
        deny="ない,ません,なく,除外,除く,ではなく,否定,ありえ,以外,あらず",
        wrong="間違,誤り,誤っ,不正解,不適切,不正確,誤答",
        assured="間違いなく,疑いなく,に違いない,違いありません,間違いない,間違いありません",
        doubt="かもしれ,もし,場合,または,ならば,でしょうか,ですか,多くの人,可能性が,も考えられ,どうか",
        reason="なぜなら,から,ため,ので,理由",
        but="しかし,一方,むしろ,ですが,ただし",
        joins="と,または,か,や,、,および",
        instead="ではなく,じゃなく,でなく",
        retract="待って,訂正,やはり,いや",
    ),
    "Korean": Language(
        noun="정답,답,답변,대답,선택지,결론,선택,보기,진단",
        verb="은,는,이,가,입니다,이다,예요,이에요,이고",
        right="정답*,맞*,옳*,적절*,올바*,정확*,답입니다,답이다",
        subject="이것*,이*,그것*",
        choose="선택*,고르*,골랐*,생각*,고릅니다",
        final="따라서,그러므로,그래서,결론적으로,최종,즉",
        deny="아니*,아닙*,않*,제외*,없*,배제*,대신*,못*,아닌,말고",
        wrong="틀리*,틀렸*,틀린*,오답*,잘못*,부적절*,틀립*",
        assured="의심*,틀림없*,뿐만 아니라",
        doubt="만약,아마*,수 있*,수도 있*,혹은,라면,인가요,일까요,많은 사람*,까요",
        reason="왜냐하면,때문*,이므로,므로",
        but="하지만,그러나,반면*,지만",
        joins="와,과,또는,및,이나",
        instead="아니라,아니고",
        retract="잠깐,정정,아니다,사실은",
    ),
    "Thai": Language(
        noun="คำตอบ,ตัวเลือก,ข้อ",
        verb="คือ,เป็น",
        right="ถูกต้อง,ดีที่สุด,ถูก",
        choose="เลือก",
        final="ดังนั้น,สรุป",
        deny="ไม่,มิใช่,ยกเว้น",
        wrong="ผิด",
        doubt="อาจ,ถ้า,หาก",
        reason="เพราะ,เนื่องจาก",
        but="แต่",
        joins="และ,หรือ",
    ),
}

_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
_SCRIPTS = {
    "Russian": "\u0400-\u04ff",
    "Ukrainian": "\u0400-\u04ff",
    "Greek": "\u0370-\u03ff",
    "Arabic": "\u0600-\u06ff",
    "Hebrew": "\u0590-\u05ff",
    "Hindi": "\u0900-\u097f",
    "Thai": "\u0e00-\u0e7f",
    "Chinese": "\u3400-\u9fff",
    "Japanese": "\u3040-\u30ff",
    "Korean": "\uac00-\ud7a3",
}
"""Languages recognised by the character range of their script; other languages are recognised by words."""
_LATIN = re.compile(r"[A-Za-zÀ-ɏḀ-ỿ']+")


def _word(word: str) -> str:
    if _UNSPACED.search(word):
        return re.escape(word)
    if word in ("'s", "n't"):
        return rf"{word}(?!\w)"
    # Korean particles follow the word without a space.
    is_korean = re.match(r"[\uac00-\ud7a3]", word)
    before, after = ("", "") if is_korean else (r"(?<![^\W\d_])", "" if word.endswith("*") else r"(?!\w)")
    return before + re.escape(word).replace(r"\ ", r"\s+").replace(r"\*", r"\w*") + after


@cache
def _words_of(name: str) -> frozenset[str]:
    row = LANGUAGES[name]
    said = ",".join(getattr(row, field.name) for field in fields(row)).replace(" ", ",").split(",")
    return frozenset(word.strip("*") for word in said if len(word.strip("*")) > 1 or not word.isascii())


def find_languages(text: str) -> tuple[str, ...]:
    """Return the names of the likely languages of a text; English if none is recognised.

    Examples
    --------
    >>> find_languages("Die richtige Antwort ist B.")
    ('German',)
    """
    found = [name for name, letters in _SCRIPTS.items() if re.search(f"[{letters}]", text)]
    words = Counter(_LATIN.findall(text.casefold()))
    scores = {
        name: sum(n for word, n in words.items() if word in _words_of(name))
        for name in LANGUAGES
        if name not in _SCRIPTS
    }
    best = max(scores.values())
    if best:
        found += [name for name, score in scores.items() if score > 0.6 * best]
    return tuple(found) or ("English",)


@cache
def make_pattern(role: str, languages: tuple[str, ...]) -> str:
    """Return a regular expression for the words of a role (a field of `Language`) in several languages."""
    words = {w for name in languages for w in getattr(LANGUAGES[name], role).split(",") if w}
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(map(_word, ordered)) + ")" if ordered else r"(?!)"
