"""polycmp: does this model still compute what it should, on the backend I want to ship it on?

In one line::

    import polycmp

    r = polycmp.compare(new, old, atol=1e-4)  # arrays, tensors, mappings of them, lists of mappings, files
    r.passed, r["logits"].max_abs, r.to_pandas(), r.plot("logits"), r.save("r.html")
    r = polycmp.run("model.onnx", "onnxrt", "openvino", shapes={"batch": 4})
    f = r.locate()
    polycmp.assert_close(new, old)  # in tests

Importing this package does no work and loads no dependencies: each name is imported when it is first used. Everything
else for programs is in separate modules, for example `polycmp.comparator` and `polycmp.spec`.
"""

TYPE_CHECKING = False  # `typing` is not imported for this; type checkers take the name for true
if TYPE_CHECKING:
    from polycmp.builtin.api.quick import (
        Answer,
        Comparison,
        Located,
        OutputResult,
        Picture,
        Run,
        assert_close,
        compare,
        run,
    )

__version__ = "0.1.0.dev0"

__all__ = [
    "Answer",
    "Comparison",
    "Located",
    "OutputResult",
    "Picture",
    "Run",
    "__version__",
    "assert_close",
    "compare",
    "run",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "compare":  # a package of that name, which can be called, too
            return import_module("polycmp.compare")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("polycmp.builtin.api.quick"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
