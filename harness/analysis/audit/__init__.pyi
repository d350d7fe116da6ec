from .design_freeze import DesignFreeze as DesignFreeze
