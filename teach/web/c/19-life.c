// The game of life in a corner of `screen`: see memory as a picture.
// Prints: 5
void print(long);

unsigned char screen[64 * 64], next[64 * 64];

int main(void) {
  const long glider[] = {66, 131, 193, 194, 195};
  for (long i = 0; i < 5; i++)
    screen[glider[i]] = 255;
  long living = 0;
  for (long generation = 0; generation < 3; generation++) {
    for (long y = 1; y < 7; y++)
      for (long x = 1; x < 7; x++) {
        const unsigned char *at = &screen[64 * y + x];
        long around = (at[-65] & 1) + (at[-64] & 1) + (at[-63] & 1) + (at[-1] & 1)
          + (at[1] & 1) + (at[63] & 1) + (at[64] & 1) + (at[65] & 1);
        next[64 * y + x] = around == 3 || (around == 2 && *at) ? 255 : 0;
      }
    living = 0;
    for (long y = 1; y < 7; y++)
      for (long x = 1; x < 7; x++) {
        screen[64 * y + x] = next[64 * y + x];
        living += screen[64 * y + x] & 1;
      }
  }
  print(living);
  return 0;
}
