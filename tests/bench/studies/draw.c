/* Prints a time that is drawn from the seed and the side it is given: what a study measures whose truth is known.
 *
 * usage: draw SEED SIDE SHAPE EFFECT: side 0 takes one second, side 1 a second over EFFECT; 2 % of noise on logs. Shapes:
 * normal; unequal: the noise of side 1 has an exponential tail, about a median of zero; late:SHARE: so many trials of side
 * 1 never end; drift:RHO: from one trial of the study to the next the noise keeps RHO of itself; own:RHO: so does the noise
 * of each side from one of its own trials to the next; walk: a random walk from one trial to the next; arms:SIZE: in each session
 * each side has an offset of its own; left:SIZE:NOISE: each trial has noise of its own, and takes SIZE longer if an earlier
 * one of its side and seed has left a file beside the study. The last five read from the file `session` beside the study its
 * seed and the number of the session. items:N: the share of N items that are right, 9 of 10 on average, over 0.9. A shape that ends in @N,M,…
 * interrupts the run at these trials, by the number in the file `pid` beside the study. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t state;

/* splitmix64: seeds that differ in one bit give streams that have nothing to do with each other. */
static double uniform(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
  const double angle = 2 * acos(-1.0) * uniform();
  return sqrt(-2 * log(uniform())) * cos(angle);
}

/* The seed of the study; the number of the session goes to *session. */
static uint64_t study(int* session) {
  char path[4096];
  unsigned long long seed = 0;
  snprintf(path, sizeof path, "%s/session", getenv("EXPC_STUDY_FOLDER"));
  FILE* file = fopen(path, "r");
  if (!file || fscanf(file, "%llu %d", &seed, session) != 2) exit(3);
  fclose(file);
  return seed * 0xda942042e4dd58b5;
}

/* The noise of this trial as the last of a series that begins with the study: of one of its own for each side where there
 * are `sides` of them. keeps 1: a random walk. */
static double drift(double keeps, int side, int sides) {
  int session;
  state = study(&session) + (uint64_t)side * 0x9e3779b9;
  double noise = normal();
  const double fresh = keeps < 1 ? sqrt(1 - keeps * keeps) : 1;
  for (int trial = (atoi(getenv("EXPC_TRIAL")) + sides - 1) / sides; trial > 1; --trial) noise = keeps * noise + fresh * normal();
  return noise;
}

/* The offset of a side in this session, in units of the noise. */
static double arm(int side, double size) {
  int session;
  state = study(&session) + 2 * (uint64_t)session + (uint64_t)side;
  return size / 0.02 * normal();
}

/* The noise of this trial, with what an earlier one left for it, in units of 2 %. */
static double left(const char* seed, int side, const char* shape) {
  char path[4096];
  int session;
  double size = 0, noise = 0;
  if (sscanf(shape, "left:%lf:%lf", &size, &noise) != 2) exit(2);
  state = study(&session) + strtoull(getenv("EXPC_TRIAL"), NULL, 10) * 0x9e3779b97f4a7c55;
  snprintf(path, sizeof path, "%s/left-%s-%d", getenv("EXPC_STUDY_FOLDER"), seed, side);
  const int first = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644) >= 0;
  return (noise * normal() + (first ? 0 : log1p(size))) / 0.02;
}

/* Interrupts the run that started this trial. */
static void interrupt(void) {
  char path[4096];
  int pid = 0;
  snprintf(path, sizeof path, "%s/pid", getenv("EXPC_STUDY_FOLDER"));
  FILE* file = fopen(path, "r");
  if (!file || fscanf(file, "%d", &pid) != 1) exit(3);
  fclose(file);
  kill(pid, SIGINT);
}

static double items(int count) {
  int right = 0;
  for (int i = 0; i < count; ++i) right += uniform() < 0.9;
  return right / (0.9 * count);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int side = atoi(argv[2]);
  const char* shape = argv[3];
  const double given = strchr(shape, ':') ? atof(strchr(shape, ':') + 1) : 0;
  double noise = strncmp(shape, "arms:", 5) == 0 ? arm(side, given) : 0;
  state = strtoull(argv[1], NULL, 10) * 2 + (uint64_t)side;
  if (strncmp(shape, "drift:", 6) == 0)
    noise = drift(given, 0, 1);
  else if (strncmp(shape, "own:", 4) == 0)
    noise = drift(given, side, 2);
  else if (strcmp(shape, "walk") == 0)
    noise = drift(1, 0, 1);
  else if (strncmp(shape, "left:", 5) == 0)
    noise = left(argv[1], side, shape);
  else if (side == 1 && strcmp(shape, "unequal") == 0)
    normal(), noise = -log(uniform()) - log(2.0);
  else
    noise += normal();
  if (side == 1 && strncmp(shape, "late:", 5) == 0 && uniform() < given) pause();
  for (const char* at = strchr(shape, '@'); at; at = strchr(at + 1, ','))
    if (atoi(at + 1) == atoi(getenv("EXPC_TRIAL"))) interrupt();
  if (strncmp(shape, "items:", 6) == 0) return printf("%.17g\n", items((int)given)) < 0;
  printf("%.17g\n", (side == 1 ? 1 / atof(argv[4]) : 1) * exp(0.02 * noise));
  return 0;
}
