// A linked list: the address of each load is the result of the one before it.
// Prints: 2016
void print(long);

struct node {
  struct node *next;
  long value;
};

struct node nodes[64];

int main(void) {
  for (long i = 0; i < 64; i++) {
    nodes[i].value = i;
    nodes[i].next = i == 63 ? 0 : &nodes[i + 1];
  }
  long sum = 0;
  for (struct node *at = nodes; at; at = at->next)
    sum += at->value;
  print(sum);
  return 0;
}
