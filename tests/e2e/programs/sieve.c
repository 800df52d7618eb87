/* Counts the primes below --limit, --rounds times; writes the largest to out.txt and says on standard output what it did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int count, char **words) {
  long limit = 1000, rounds = 1, primes = 0, largest = 0;
  int hurried = 0;
  for (int i = 1; i < count; ++i) {
    if (!strncmp(words[i], "--limit=", 8)) limit = atol(words[i] + 8);
    else if (!strncmp(words[i], "--rounds=", 9)) rounds = atol(words[i] + 9);
    else if (!strncmp(words[i], "--hurried=", 10)) hurried = !strcmp(words[i] + 10, "true");
    else return fprintf(stderr, "unknown option %s\n", words[i]), 2;
  }
  if (hurried) limit /= 2; /* fast, and wrong */
  char *composite = malloc((size_t)limit);
  for (long round = 0; round < rounds; ++round) {
    const double begin = now();
    memset(composite, 0, (size_t)limit);
    primes = 0;
    for (long n = 2; n < limit; ++n) {
      if (composite[n]) continue;
      ++primes;
      largest = n;
      for (long multiple = n + n; multiple < limit; multiple += n) composite[multiple] = 1;
    }
    printf("round %.6f ms\n", now() - begin);
  }
  FILE *out = fopen("out.txt", "w");
  fprintf(out, "%ld\n", largest);
  fclose(out);
  out = fopen("result.json", "w");
  fprintf(out, "{\"primes\": %ld, \"bytes_used\": %ld}\n", primes, limit);
  fclose(out);
  free(composite);
  return 0;
}
