// Places six queens: recursion that tries and takes back.
// Prints: 4
void print(long);

long place(long row, unsigned long columns, unsigned long left, unsigned long right) {
  if (row == 6)
    return 1;
  long found = 0;
  for (unsigned long free = ~(columns | left | right) & 63; free; free &= free - 1) {
    unsigned long queen = free & -free;
    found += place(row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
  return found;
}

int main(void) {
  print(place(0, 0, 0, 0));
  return 0;
}
