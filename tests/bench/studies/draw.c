/* Prints a time that is drawn from the seed and the side it is given: what a study measures whose truth is known.
 *
 * usage: draw SEED SIDE SHAPE EFFECT: side 0 takes one second, side 1 a second over EFFECT; 2 % of noise on logs. Of the
 * shape "unequal" the noise of side 1 has an exponential tail, about a median of zero. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

/* splitmix64: seeds that differ in one bit give streams that have nothing to do with each other. */
static double uniform(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int side = atoi(argv[2]);
  state = strtoull(argv[1], NULL, 10) * 2 + (uint64_t)side;
  const double angle = 2 * acos(-1.0) * uniform(), normal = sqrt(-2 * log(uniform())) * cos(angle);
  const int tail = side == 1 && strcmp(argv[3], "unequal") == 0;
  const double noise = tail ? -log(uniform()) - log(2.0) : normal;
  printf("%.17g\n", (side == 1 ? 1 / atof(argv[4]) : 1) * exp(0.02 * noise));
  return 0;
}
