/* The interpreted programs.  Each has a function main with one argument. */
#include "vm.h"

static const char fibonacci[] =
    "func fib 1 1 load 0 push 2 lt jz more load 0 ret "
    "more: load 0 push 1 sub call fib load 0 push 2 sub call fib add ret "
    "func main 1 1 load 0 call fib native emit push 0 ret ";

/* locals: limit, array, i, j, count */
static const char sieve[] =
    "func main 1 5 load 0 push 1 add array store 1 load 1 push 1 native fill push 2 store 2 "
    "outer: load 2 load 0 le jz done load 1 load 2 get jz skip inc 4 1 "
    "load 2 dup mul store 3 "
    "inner: load 3 load 0 le jz skip load 1 load 3 push 0 put load 3 load 2 add store 3 jump inner "
    "skip: inc 2 1 jump outer "
    "done: load 4 native emit push 0 ret ";

/* Rows are arrays of their own; locals of mul: a, b, n, c, i, j, k, sum, row */
static const char matrix[] =
    "func make 2 5 load 0 array store 2 "
    "rows: load 3 load 0 lt jz end load 2 load 3 load 0 array put push 0 store 4 "
    "cells: load 4 load 0 lt jz next load 2 load 3 get load 4 load 3 load 1 mul load 4 add push 17 mod put "
    "inc 4 1 jump cells next: inc 3 1 jump rows end: load 2 ret "
    "func mul 3 9 load 2 push 0 call make store 3 "
    "i: load 4 load 2 lt jz end push 0 store 5 load 0 load 4 get store 8 "
    "j: load 5 load 2 lt jz nexti push 0 store 6 push 0 store 7 "
    "k: load 6 load 2 lt jz nextj load 8 load 6 get load 1 load 6 get load 5 get mul load 7 add store 7 inc 6 1 jump k "
    "nextj: load 3 load 4 get load 5 load 7 put inc 5 1 jump j "
    "nexti: inc 4 1 jump i end: load 3 ret "
    "func main 1 6 load 0 push 3 call make load 0 push 5 call make load 0 call mul store 1 "
    "loop: load 2 load 0 lt jz done load 1 load 2 get load 2 get load 3 add store 3 inc 2 1 jump loop "
    "done: load 3 native emit push 0 ret ";

/* Quicksort of hashed numbers; locals of sort: array, low, high, i, j, pivot, swap */
static const char quicksort[] =
    "func sort 3 7 load 1 load 2 lt jz end load 1 store 3 load 2 store 4 "
    "load 0 load 1 load 2 add push 2 div get store 5 "
    "loop: load 3 load 4 le jz split "
    "up: load 0 load 3 get load 5 lt jz down inc 3 1 jump up "
    "down: load 5 load 0 load 4 get lt jz test inc 4 -1 jump down "
    "test: load 3 load 4 le jz loop load 0 load 3 get store 6 load 0 load 3 load 0 load 4 get put "
    "load 0 load 4 load 6 put inc 3 1 inc 4 -1 jump loop "
    "split: load 0 load 1 load 4 call sort pop load 0 load 3 load 2 call sort pop "
    "end: push 0 ret "
    "func main 1 3 load 0 array store 1 "
    "fill: load 2 load 0 lt jz go load 1 load 2 load 2 native hash put inc 2 1 jump fill "
    "go: load 1 push 0 load 0 push 1 sub call sort pop push 0 store 2 "
    "check: load 2 load 0 lt jz done load 1 load 2 get native emit inc 2 100 jump check "
    "done: push 0 ret ";

/* Shapes with two methods each, made anew in every round so that the collector works. */
static const char objects[] =
    "method 0 0 square_area method 0 1 grow "
    "method 1 0 box_area method 1 1 grow "
    "method 2 0 ring_area method 2 1 shrink "
    "func square_area 1 1 load 0 push 1 get dup mul ret "
    "func box_area 1 1 load 0 push 1 get load 0 push 2 get mul ret "
    "func ring_area 1 1 load 0 push 2 get dup mul load 0 push 1 get dup mul sub push 3 mul ret "
    "func grow 2 2 load 0 push 1 load 0 push 1 get load 1 add put push 0 ret "
    "func shrink 2 2 load 0 push 2 load 0 push 2 get load 1 sub put push 0 ret "
    "func make 2 3 push 3 array store 2 load 2 push 0 load 0 put load 2 push 1 load 1 put "
    "load 2 push 2 load 1 push 7 add put load 2 ret "
    "func main 1 5 "
    "loop: load 1 load 0 lt jz done load 1 push 3 mod load 1 push 100 mod call make store 2 "
    "load 2 load 1 push 5 mod send 1 2 pop load 2 send 0 1 load 3 add store 3 "
    "load 1 push 255 and jnz next push 16 array dup setglobal 0 push 3 load 2 put "
    "next: inc 1 1 jump loop "
    "done: load 3 native emit push 0 ret ";

/* Longest common subsequence of two hashed sequences; locals: n, row, old, i, j, best, a, b */
static const char sequences[] =
    "func letter 2 2 load 0 push 31 mul load 1 add native hash push 4 mod ret "
    "func main 1 8 load 0 push 1 add array store 1 "
    "i: load 3 load 0 lt jz done load 0 push 1 add array store 2 push 0 store 4 load 3 push 1 call letter store 6 "
    "j: load 4 load 0 lt jz nexti load 4 push 2 call letter load 6 eq jz other "
    "load 1 load 4 get push 1 add store 5 jump set "
    "other: push 0 load 1 load 4 push 1 add get sub push 0 load 2 load 4 get sub native min push -1 mul store 5 "
    "set: load 2 load 4 push 1 add load 5 put inc 4 1 jump j "
    "nexti: load 2 store 1 inc 3 1 jump i "
    "done: load 1 load 0 get native emit push 0 ret ";

const struct program programs[] = {
    {"fibonacci", fibonacci, 13, 22},
    {"sieve", sieve, 600, 60000},
    {"matrix", matrix, 6, 36},
    {"quicksort", quicksort, 100, 9000},
    {"objects", objects, 145, 40000},
    {"sequences", sequences, 17, 160},
};
const int program_count = ARRAY_LEN(programs);
