/* What the objects of a build on Debian 12 ask of its glibc (2.36) and glibc 2.28 has not, for the programs that tools/package links again. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>

/* Functions of the library since 2.33; before, each took a version of the struct: 1 on x86-64. */
int __xstat(int version, const char *path, struct stat *result);
int __fxstat(int version, int file, struct stat *result);
int __lxstat(int version, const char *path, struct stat *result);
int __fxstatat(int version, int folder, const char *path, struct stat *result, int flags);
int stat(const char *path, struct stat *result) { return __xstat(1, path, result); }
int fstat(int file, struct stat *result) { return __fxstat(1, file, result); }
int lstat(const char *path, struct stat *result) { return __lxstat(1, path, result); }
int fstatat(int folder, const char *path, struct stat *result, int flags) { return __fxstatat(1, folder, path, result, flags); }

/* Since 2.32, for the counts of shared pointers: that it is not known that no other thread runs is always right. */
char __libc_single_threaded = 0;

/* Since 2.33; LLVM's statistics of its memory, which nothing of ours prints. */
struct mallinfo2 {
  size_t fields[10];
};
struct mallinfo2 mallinfo2(void) { return (struct mallinfo2){{0}}; }

/* Since 2.35: the loaded file that an address lies in, with its table for unwinding, as GCC 12's runtime asks for it. */
struct search {
  ElfW(Addr) address;
  struct dl_find_object *found;
};

static int lies_in(struct dl_phdr_info *file, size_t size, void *given) {
  struct search *search = given;
  void *frames = NULL, *start = NULL, *end = NULL;
  (void)size;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &file->dlpi_phdr[i];
    const ElfW(Addr) at = file->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = (void *)at;
    if (part->p_type != PT_LOAD || search->address < at || search->address >= at + part->p_memsz) continue;
    start = (void *)at;
    end = (void *)(at + part->p_memsz);
  }
  if (!start) return 0;
  *search->found = (struct dl_find_object){.dlfo_map_start = start, .dlfo_map_end = end, .dlfo_eh_frame = frames};
  return frames ? 1 : -1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
  struct search search = {(ElfW(Addr))address, result};
  return dl_iterate_phdr(lies_in, &search) == 1 ? 0 : -1;
}

/* hwloc asks udev for the names of disks; without one it goes on. */
void *udev_new(void) { return NULL; }
void *udev_unref(void *udev) { return udev; }
void *udev_device_unref(void *device) { return device; }
void *udev_device_new_from_subsystem_sysname(void *udev, const char *subsystem, const char *name) { return (void)udev, (void)subsystem, (void)name, NULL; }
const char *udev_device_get_property_value(void *device, const char *key) { return (void)device, (void)key, NULL; }
