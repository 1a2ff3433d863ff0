// The Mandelbrot set in whole numbers, drawn into `screen`: see memory as a picture.
// Prints: 256
void print(long);

unsigned char screen[64 * 64];

int main(void) {
  long drawn = 0;
  for (long y = 0; y < 64; y += 4)
    for (long x = 0; x < 64; x += 4) {
      long a = x * 48 - 2048, b = y * 40 - 1280;
      long u = 0, v = 0, rounds = 0;
      while (rounds < 5 && u * u + v * v < 4 << 20) {
        long t = (u * u - v * v >> 10) + a;
        v = (2 * u * v >> 10) + b;
        u = t;
        rounds++;
      }
      for (long down = 0; down < 4 * 64; down += 64)
        *(unsigned *)&screen[64 * y + down + x] = rounds == 5 ? 0 : rounds * 0x24242424;
      drawn++;
    }
  print(drawn);
  return 0;
}
