/* Preloaded into `crtx up` and the PostgreSQL that it starts: each call that waits for the disk takes longer.
 * SLOW_DISK_MS says by how much, SLOW_DISK_ONLY which file name it is for (all files without it). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int concerns(int fd) {
    const char *only = getenv("SLOW_DISK_ONLY");
    if (only == NULL || *only == '\0') return 1;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    return name != NULL && strcmp(name + 1, only) == 0;
}

static void wait_for_disk(int fd) {
    const char *text = getenv("SLOW_DISK_MS");
    long ms = text == NULL ? 0 : atol(text);
    if (ms <= 0 || !concerns(fd)) return;
    struct timespec rest = {ms / 1000, (ms % 1000) * 1000000L};
    while (nanosleep(&rest, &rest) != 0) {
    }
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd) {
    wait_for_disk(fd);
    return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
    wait_for_disk(fd);
    return NEXT(fdatasync)(fd);
}

int syncfs(int fd) {
    wait_for_disk(fd);
    return NEXT(syncfs)(fd);
}

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags) {
    wait_for_disk(fd);
    return NEXT(sync_file_range)(fd, offset, length, flags);
}

int msync(void *address, size_t length, int flags) {
    wait_for_disk(-1);
    return NEXT(msync)(address, length, flags);
}
