// A hash table with open addressing: where a word goes depends on a multiplication.
// Prints: 48
void print(long);

unsigned long table[128];

int put(unsigned long key) {
  unsigned long at = (key * 0x9e3779b9) >> 7 & 127;
  while (table[at] != 0) {
    if (table[at] == key)
      return 0;
    at = (at + 1) & 127;
  }
  table[at] = key;
  return 1;
}

int main(void) {
  long different = 0;
  for (unsigned long i = 1; i <= 96; i++)
    different += put(i % 48 + 1);
  print(different);
  return 0;
}
