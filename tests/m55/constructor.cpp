// An object that a constructor initializes before main(). The linker script must reject it (check_m55.py).
extern "C" int seed();

struct Counter {
  Counter() : value(seed()) {}
  int value;
};
Counter counter;

extern "C" int seed() {
  volatile int value = 7;
  return value;
}
extern "C" int reset_handler() {
  return counter.value;
}
