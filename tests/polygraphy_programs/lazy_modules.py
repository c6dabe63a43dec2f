"""Import what may be missing only where it is used."""

from polygraphy import mod

np = mod.lazy_import("numpy")
absent = mod.lazy_import("a_module_that_nobody_has>=1.0")
print(mod.version("8.6.1") < mod.version("10.0"), mod.version("1.13.0") >= mod.version("1.13"))
print(absent.is_installed(), np.is_installed(), np.zeros((2, 2), dtype=np.float32).sum())
try:
    absent.function()
except Exception as error:
    print("a_module_that_nobody_has" in str(error))
