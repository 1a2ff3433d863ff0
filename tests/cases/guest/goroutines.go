// Goroutines that allocate, hand each other numbers, and have their garbage collected.
package main

import (
	"fmt"
	"runtime"
	"sort"
	"sync"
)

type node struct {
	left, right *node
	key         int
}

func tree(depth, key int) *node {
	if depth == 0 {
		return &node{key: key}
	}
	return &node{tree(depth-1, 2*key), tree(depth-1, 2*key+1), key}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.key + n.left.sum() + n.right.sum()
}

func main() {
	var group sync.WaitGroup
	results := make(chan int, 8)
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			total := 0
			for round := 0; round < 6; round++ {
				total += tree(10, worker+round).sum()
				runtime.Gosched()
			}
			results <- total
		}(worker)
	}
	group.Wait()
	close(results)
	var all []int
	for result := range results {
		all = append(all, result)
	}
	sort.Ints(all)
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	var lock sync.Mutex
	count := 0
	pipe := make(chan int)
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for v := range pipe {
				lock.Lock()
				count += v
				lock.Unlock()
			}
		}()
	}
	for i := 1; i <= 1000; i++ {
		pipe <- i
	}
	close(pipe)
	group.Wait()
	fmt.Println(all, count, stats.NumGC > 0)
}
