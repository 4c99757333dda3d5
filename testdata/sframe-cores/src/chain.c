/* A chain of calls of every shape that ends in a crash, without a C library: see README.md. */
typedef unsigned long word;
#define NOINLINE __attribute__((noinline, noclone))

long call(long number, long a, long b, long c, long d); /* a system call */
void restorer(void);
int gate(int n); /* a frame that was interrupted, and what interrupted it */
int chain(int n);

static volatile int sink;
static int *volatile nowhere;

static void NOINLINE leaf(int *p, int v) { *p = v; }

static int NOINLINE busy_leaf(int *p, int v) {
  volatile int a[12];
  a[v & 7] = v;
  *p = a[3];
  return a[v & 3];
}

static int NOINLINE fatal(int n) {
#ifdef BUSY
  return busy_leaf(nowhere, n) + sink;
#else
  leaf(nowhere, n);
  return sink;
#endif
}

/* Offsets that take 4 bytes. */
static int NOINLINE big(int n) {
  volatile char b[70000];
  b[n] = 1;
  return fatal(n + b[n]) + b[n];
}

/* A frame of a size known at run time only. */
static int NOINLINE dynamic(int n) {
  volatile char *p = __builtin_alloca(n * 48);
  p[n] = 2;
  return big(p[n]) + p[n];
}

static int NOINLINE aligned(int n) {
  volatile char b[64] __attribute__((aligned(64)));
  b[n & 63] = 3;
  return dynamic(b[n & 63]) + b[n & 63];
}

/* Many values that live across calls. */
static int NOINLINE crowded(int a, int b, int c, int d, int e, int f) {
  int r = sink, s = sink, t = sink;
  r += aligned(a + b);
  sink = r;
  return r + s * a + t * b + c + d * e + f * r;
}

static int NOINLINE down(int n) {
  if (n == 0)
    return crowded(1, 2, 3, 4, 5, 6) + 1;
  int r = down(n - 1);
  return r + sink;
}

int NOINLINE chain(int n) {
  int r = down(n);
  return r - sink;
}

#ifdef SIGNAL
static void NOINLINE handler(int s) {
#ifdef GATE
  sink += gate(2);
#else
  sink += chain(2) + s;
#endif
}

static int NOINLINE raise(void) {
  struct { void (*handler)(int); word flags; void (*restorer)(void); word mask; } act = {handler, 0x04000004, restorer, 0};
  call(NR_SIGACTION, 10, (long)&act, 0, 8);
  long pid = call(NR_GETPID, 0, 0, 0, 0);
  call(NR_KILL, pid, 10, 0, 0);
  return sink;
}
#endif

void begin(void) {
#if defined SIGNAL
  int r = raise();
#elif defined GATE
  int r = gate(2);
#else
  int r = chain(2);
#endif
  call(NR_EXIT, r, 0, 0, 0);
}
