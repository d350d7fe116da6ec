"""Send requests through lm-evaluation-harness, in a separate environment (see `_peers`)."""

from __future__ import annotations

import sys


def main(url: str, n: int, concurrency: int) -> None:
    from lm_eval.api.instance import Instance  # type: ignore[import-not-found]
    from lm_eval.models.openai_completions import LocalChatCompletion  # type: ignore[import-not-found]

    model = LocalChatCompletion(
        base_url=f"{url}/chat/completions", model="bench", num_concurrent=concurrency, max_retries=3
    )
    settings = {"until": ["\n\n\n"], "max_gen_toks": 8}
    requests = []
    for j in range(n):
        prompt = model.apply_chat_template([{"role": "user", "content": f"question number {j} of many?"}])
        requests.append(Instance("generate_until", {}, (prompt, settings), j))
    model.generate_until(requests, disable_tqdm=True)
    print(f'{{"asked": {n}}}')


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
