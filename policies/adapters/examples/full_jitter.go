// Exponential backoff with full jitter, 100 ms to 5 s, 8 attempts, as a program that retrygate can check.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
)

type told struct {
	Protocol            int    `json:"retrygate-policy"`
	Seed                uint64 `json:",string"`
	ID, Attempt, Status int
}

func decide(t told) string {
	if t.Status/100 == 2 {
		return `"stop":"success"`
	} else if t.Attempt >= 8 {
		return `"stop":"attempts"`
	}
	ceiling := []float64{1e8, 2e8, 4e8, 8e8, 1.6e9, 3.2e9, 5e9}[t.Attempt-1]
	return fmt.Sprintf(`"wait_ns":%d`, int64(rand.Float64()*ceiling))
}

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		t := told{}
		if json.Unmarshal(in.Bytes(), &t); t.Protocol != 0 {
			rand.Seed(int64(t.Seed))
			fmt.Println(`{"retrygate-policy":1,"name":"full jitter in Go","jumps":true}`)
		} else {
			fmt.Printf("{\"id\":%d,%s}\n", t.ID, decide(t))
		}
	}
}
