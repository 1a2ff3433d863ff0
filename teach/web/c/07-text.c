// Turns a text round: loads and stores of bytes.
// Prints: elpmaxe na
long write(long file, const char *text, long length);

char text[] = "an example\n";

int main(void) {
  long length = 0;
  while (text[length] != '\n')
    length++;
  for (long a = 0, b = length - 1; a < b; a++, b--) {
    char kept = text[a];
    text[a] = text[b];
    text[b] = kept;
  }
  write(1, text, length + 1);
  return 0;
}
