// Sorts by parts: recursion around a loop.
// Prints: 4 88
void print(long);

long numbers[] = {42, 7, 19, 4, 88, 51, 13, 60, 25, 36, 9, 71};

void sort(long first, long last) {
  if (first >= last)
    return;
  long middle = numbers[(first + last) / 2], a = first, b = last;
  while (a <= b) {
    while (numbers[a] < middle)
      a++;
    while (numbers[b] > middle)
      b--;
    if (a <= b) {
      long kept = numbers[a];
      numbers[a++] = numbers[b];
      numbers[b--] = kept;
    }
  }
  sort(first, b);
  sort(a, last);
}

int main(void) {
  sort(0, 11);
  print(numbers[0]);
  print(numbers[11]);
  return 0;
}
