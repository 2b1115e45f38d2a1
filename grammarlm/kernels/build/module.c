/* Calls compiled kernels with plain integers. extension.py writes the parts that depend on the list of kernels.

   A kernel is a function as numba compiles it: (address of the result, address of an exception's description, arguments) -> status.
*/
#define Py_LIMITED_API 0x030a0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#define NOTHING -2 /* numba's status of a function that returns None */

/* What kernels ask of numba's runtime: memory of the arrays that they allocate. Compiled code counts references itself, in the
   first word, and calls the destructor at zero; it reads the address of the data from the fourth word. */

typedef struct {
    size_t references;
    void (*destructor)(void *data, size_t size, void *info);
    void *destructor_info;
    void *data;
    size_t size;
    void *allocator;
} Block;

Block *NRT_MemInfo_alloc_aligned(size_t size, uint32_t alignment) {
    if (size > SIZE_MAX / 2) return NULL;
    Block *block = malloc(sizeof(Block) + size + alignment);
    if (block == NULL) return NULL;
    uintptr_t first = (uintptr_t)(block + 1);
    void *data = (void *)((first + alignment - 1) / alignment * alignment);
    *block = (Block){1, NULL, NULL, data, size, NULL};
    return block;
}

Block *NRT_MemInfo_alloc_safe_aligned(size_t size, uint32_t alignment) { return NRT_MemInfo_alloc_aligned(size, alignment); }

Block *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

void NRT_MemInfo_call_dtor(Block *block) { free(block); }

void *NRT_Allocate(size_t size) { return malloc(size); }

void NRT_Free(void *memory) { free(memory); }

/* Functions of the mathematical library in their oldest version: a newer one would not load with an older glibc, and differs only in
   how it reports errors. The linker replaces calls of NAME by __wrap_NAME (extension.py). */

#if defined(__x86_64__) && defined(__GLIBC__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__) && defined(__GLIBC__)
#define OLDEST "GLIBC_2.17"
#endif
#define FUNCTION(name) \
    double oldest_##name(double x); \
    __asm__(".symver oldest_" #name "," #name "@" OLDEST); \
    double __wrap_##name(double x) { return oldest_##name(x); }
FUNCTION(exp)
FUNCTION(log)
FUNCTION(log10)

/* The kernels of each kind of CPU. */

struct kernels {
/*POINTERS*/
};

/*EXTERNS*/

static const struct {
    const char *cpu;
    struct kernels kernels;
} tables[] = {
/*TABLES*/
};

static const struct kernels *chosen;

static int choose(void) {
    __builtin_cpu_init();
/*CHOICE*/
    return -1;
}

/* What Python calls. */

static int take(PyObject *const *arguments, Py_ssize_t count, int64_t *given, Py_ssize_t wanted, const char *name) {
    if (count != wanted) {
        PyErr_Format(PyExc_TypeError, "%s takes %zd integers, not %zd", name, wanted, count);
        return 0;
    }
    for (Py_ssize_t i = 0; i < wanted; i++) {
        given[i] = PyLong_AsLongLong(arguments[i]);
        if (given[i] == -1 && PyErr_Occurred()) return 0;
    }
    return 1;
}

static PyObject *nothing(void) {
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *failed(const char *name) {
    PyErr_Format(PyExc_MemoryError, "the kernel %s found no memory", name);
    return NULL;
}
/*CALLS*/
static PyMethodDef methods[] = {
/*METHODS*/
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shipped", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_shipped(void) {
    int found = choose();
    if (found < 0) {
        PyErr_SetString(PyExc_ImportError, "it has no kernels for this CPU");
        return NULL;
    }
    chosen = &tables[found].kernels;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddStringConstant(module, "CPU", tables[found].cpu) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
