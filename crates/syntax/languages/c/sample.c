/* A store of settings, kept in memory. */
#include <stdio.h>
#include <string.h>
#include "store.h"

#define STORE_VERSION 3
#define STORE_MAX(a, b) ((a) > (b) ? (a) : (b))

#ifdef __GNUC__
#define STORE_API __attribute__((visibility("default")))
#else
#define STORE_API
#endif

/** How a setting is kept. */
typedef enum store_kind {
    STORE_TEXT = 1, /**< As it is written. */
    STORE_NUMBER,
} store_kind;

/**
 * One setting.
 */
struct store_entry {
    char *name;          /**< Never NULL. */
    union {
        char *text;
        long number;
    } value;
    struct store_entry *next;
    unsigned flags : 4;
};

/// What is asked of each setting.
typedef int (*store_visitor)(const struct store_entry *entry, void *data);

typedef struct {
    struct store_entry *first;
    size_t count;
} store_t;

/* Not for other files. */
static const size_t STEP = 16;
int store_errors = 0;
extern const char *const store_names[];
static struct store_entry *spare, fallback = {0};

union store_word { int whole; char bytes[4]; };

struct forward;

/* Declared first, defined below. */
static int same(const char *left, const char *right);

/**
 * Finds a setting by its name.
 *
 * @param store where to look
 * @param name what to look for
 * @return the setting, or NULL
 */
struct store_entry *store_find(const store_t *store, const char *name)
{
    struct store_entry *one;

    for (one = store->first; one != NULL; one = one->next) {
        if (one->name && same(one->name, name))
            return one;
    }
    return NULL;
}

// Compares two names.
// Letters of either case are the same.
static inline int same(const char *left, const char *right)
{
    return strcmp(left, right) == 0;
}

int store_each(store_t *store, store_visitor visit, void *data)
{
    int status = 0;
    struct store_entry *one = store->first;

    while (one && !status) {
        status = visit(one, data);
        one = one->next;
    }
    if (status < 0)
        goto failed;
    return status;
failed:
    store_errors++;
    return -1;
}

/* Says what went wrong. */
void store_warn(const char *format, ...);

int store_count(void) __attribute__((pure));

#if STORE_VERSION > 2
char (*store_table(unsigned rows, int shape[static 2]))[8]
{
    switch (rows) {
    case 0:
        return NULL;
    case 1:
    default:
        return shape[0] > 0 ? (char (*)[8])malloc(rows) : NULL;
    }
}
#endif

int main(int argc, char **argv)
{
    store_t store = {NULL, 0};
    int (*compare)(const char *, const char *) = same;

    do {
        printf("%s\n", argv[--argc]);
    } while (argc > 0 || compare == NULL);
    return store_each(&store, NULL, NULL);
}
