// Binary search: every step is a branch that nothing foretells.
// Prints: 64
void print(long);

long table[64];

long find(long key) {
  long low = 0, high = 64;
  while (low < high) {
    long middle = (low + high) / 2;
    if (table[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int main(void) {
  for (long i = 0; i < 64; i++)
    table[i] = 3 * i;
  long found = 0;
  for (long i = 0; i < 64; i++)
    found += table[find(3 * ((i * 37) % 64))] == 3 * ((i * 37) % 64);
  print(found);
  return 0;
}
