/* The installed CUDA driver, but for its version: what programs meet on a machine whose driver is too old for them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

typedef unsigned long long flags_t;
typedef int (*resolve_t)(const char *, void **, int, flags_t);
typedef int (*resolve_v2_t)(const char *, void **, int, flags_t, void *);

int cuDriverGetVersion(int *version) {
  *version = 11000;
  return 0;
}

int cuGetProcAddress(const char *name, void **out, int version, flags_t flags);
int cuGetProcAddress_v2(const char *name, void **out, int version, flags_t flags, void *status);

static int ours(const char *name, void **out, int version) {
  if (!strcmp(name, "cuDriverGetVersion"))
    *out = (void *)cuDriverGetVersion;
  else if (!strcmp(name, "cuGetProcAddress"))
    *out = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
  else
    return 0;
  return 1;
}

int cuGetProcAddress(const char *name, void **out, int version, flags_t flags) {
  return ours(name, out, version) ? 0 : ((resolve_t)dlsym(RTLD_NEXT, "cuGetProcAddress"))(name, out, version, flags);
}

int cuGetProcAddress_v2(const char *name, void **out, int version, flags_t flags, void *status) {
  if (ours(name, out, version)) {
    if (status)
      *(int *)status = 0;
    return 0;
  }
  return ((resolve_v2_t)dlsym(RTLD_NEXT, "cuGetProcAddress_v2"))(name, out, version, flags, status);
}
