/* A processor's counters on a machine that has none: preloaded, this turns the hardware events that a program opens
 * into events of the kernel's software, which can be counted everywhere. Instructions become page faults, everything
 * else becomes the time on a CPU in nanoseconds. FAKEPMU_ERRNO makes the kernel refuse, with that error; only for
 * hardware events if FAKEPMU_HARDWARE is set. FAKEPMU_COUNTERS is how many events fit into a group. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define FILES 4096

typedef long (*call_t)(long, long, long, long, long, long, long);

static int hardware(const struct perf_event_attr *event)
{
    return event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_RAW || event->type == PERF_TYPE_HW_CACHE;
}

static int instructions(const struct perf_event_attr *event)
{
    if (event->type == PERF_TYPE_HARDWARE)
        return event->config == PERF_COUNT_HW_INSTRUCTIONS;
    return event->type == PERF_TYPE_RAW && (event->config & 0xffff) == 0xc0;
}

/* Whether a group has no room for one more. Its members are counted by the file of the first. */
static int full(int group, int *members)
{
    const char *counters = getenv("FAKEPMU_COUNTERS");

    return counters && group >= 0 && group < FILES && ++members[group] >= atoi(counters);
}

long syscall(long number, ...)
{
    static int members[FILES];
    static call_t next;
    const char *refused = getenv("FAKEPMU_ERRNO");
    struct perf_event_attr event;
    long a[6], file;
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        next = (call_t)dlsym(RTLD_NEXT, "syscall");
    if (number != __NR_perf_event_open)
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    memcpy(&event, (const void *)a[0], sizeof event);
    if (refused && (hardware(&event) || !getenv("FAKEPMU_HARDWARE"))) {
        errno = atoi(refused);
        return -1;
    }
    if (hardware(&event) && full((int)a[3], members)) {
        errno = EINVAL;
        return -1;
    }
    if (hardware(&event)) {
        event.config = instructions(&event) ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_TASK_CLOCK;
        event.type = PERF_TYPE_SOFTWARE;
        event.config1 = event.config2 = 0;
    }
    file = next(number, (long)&event, a[1], a[2], a[3], a[4], a[5]);
    if (file >= 0 && file < FILES)
        members[file] = 0;
    return file;
}
