/* Faults of the machine under one process, loaded with LD_PRELOAD and steered through a small shared file:
 * the wall clock is shifted, and the content folder is full, forbidden or does not answer.
 *
 * CRTX_FAULTS_CONTROL names the file: an int64 (nanoseconds added to the wall clock) and an int32 (what is
 * wrong with the folder: 0 nothing, 1 no space, 2 forbidden, 3 no answer). CRTX_FAULTS_FOLDER names the folder.
 * Only this process is meant: its children get a clean environment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    volatile int64_t clock_offset_ns;
    volatile int32_t folder_fault;
};

enum { NO_SPACE = 1, FORBIDDEN = 2, NO_ANSWER = 3 };

static const struct control *control;
static char folder[4096];
static size_t folder_len;

__attribute__((constructor)) static void faults_start(void) {
    const char *path = getenv("CRTX_FAULTS_CONTROL");
    const char *watched = getenv("CRTX_FAULTS_FOLDER");
    if (path) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            void *map = mmap(NULL, sizeof(struct control), PROT_READ, MAP_SHARED, file, 0);
            if (map != MAP_FAILED) control = map;
            close(file);
        }
    }
    if (watched && strlen(watched) < sizeof folder) {
        strcpy(folder, watched);
        folder_len = strlen(folder);
    }
    unsetenv("LD_PRELOAD");
}

/* The clock. */

static int real_clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*next)(clockid_t, struct timespec *);
    if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    if (!next) return (int)syscall(SYS_clock_gettime, clock, time);
    return next(clock, time);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = real_clock_gettime(clock, time);
    if (result == 0 && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t nanos = time->tv_sec * 1000000000LL + time->tv_nsec + control->clock_offset_ns;
        time->tv_sec = nanos / 1000000000LL;
        time->tv_nsec = nanos % 1000000000LL;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    if (result == 0) {
        time->tv_sec = now.tv_sec;
        time->tv_usec = now.tv_nsec / 1000;
    }
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}

/* The folder. Returns 0, or the error that the call ends with. */

static int fault_of(const char *path, int writes) {
    if (!control || folder_len == 0 || !path || strncmp(path, folder, folder_len) != 0) return 0;
    while (control->folder_fault == NO_ANSWER) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    switch (control->folder_fault) {
    case NO_SPACE: return writes ? ENOSPC : 0;
    case FORBIDDEN: return EACCES;
    default: return 0;
    }
}

#define REAL(name, type) \
    static __typeof__(type) next; \
    if (!next) next = (__typeof__(type))dlsym(RTLD_NEXT, name)

#define MODE_OF(flags, mode) \
    mode_t mode = 0; \
    if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = (mode_t)va_arg(rest, int); \
        va_end(rest); \
    }

#define WRITES(flags) ((flags) & (O_WRONLY | O_RDWR | O_CREAT))

int open64(const char *path, int flags, ...) {
    REAL("open64", int (*)(const char *, int, ...));
    MODE_OF(flags, mode)
    int error = fault_of(path, WRITES(flags));
    if (error) { errno = error; return -1; }
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    REAL("open", int (*)(const char *, int, ...));
    MODE_OF(flags, mode)
    int error = fault_of(path, WRITES(flags));
    if (error) { errno = error; return -1; }
    return next(path, flags, mode);
}

int rename(const char *from, const char *to) {
    REAL("rename", int (*)(const char *, const char *));
    int error = fault_of(to, 1);
    if (error) { errno = error; return -1; }
    return next(from, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    REAL("linkat", int (*)(int, const char *, int, const char *, int));
    int error = fault_of(to, 1);
    if (error) { errno = error; return -1; }
    return next(from_dir, from, to_dir, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    REAL("mkdir", int (*)(const char *, mode_t));
    int error = fault_of(path, 1);
    if (error) { errno = error; return -1; }
    return next(path, mode);
}
