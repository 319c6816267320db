// The delays of Go libraries through the protocol: libraries cenkalti|cenkalti-unseeded|retryablehttp.
// No network and no sleep: the libraries' own functions are asked.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/cenkalti/backoff"
	"github.com/hashicorp/go-retryablehttp"
)

type told struct {
	Protocol   int `json:"retrygate-policy"`
	Seed       string
	ID         int64
	Client     int64
	Call       int64
	Attempt    int64
	Status     any
	RetryAfter *string `json:"retry_after"`
}

// A fresh call of each policy: the next delay, or false to stop.
type call func(told) (time.Duration, bool)

// Time stands still: the limit on elapsed time is not what is looked at.
type still struct{}

func (still) Now() time.Time { return time.Time{} }

func cenkalti() call {
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 0
	b.Clock = still{}
	b.Reset()
	return func(told) (time.Duration, bool) { return b.NextBackOff(), true }
}

func retryableHTTP() call {
	return func(t told) (time.Duration, bool) {
		var response *http.Response
		if code, number := t.Status.(float64); number {
			response = &http.Response{StatusCode: int(code), Header: http.Header{}}
			if t.RetryAfter != nil {
				response.Header.Set("Retry-After", *t.RetryAfter)
			}
		}
		return retryablehttp.DefaultBackoff(time.Second, 30*time.Second, int(t.Attempt-1), response), true
	}
}

func main() {
	kinds := map[string]func() call{"cenkalti": cenkalti, "cenkalti-unseeded": cenkalti, "retryablehttp": retryableHTTP}
	kind := os.Args[1]
	fresh, known := kinds[kind]
	if !known {
		fmt.Fprintf(os.Stderr, "libraries: nothing is called '%s'\n", kind)
		os.Exit(1)
	}
	calls := map[[2]int64]call{}
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for line, err := in.ReadBytes('\n'); err == nil; line, err = in.ReadBytes('\n') {
		var t told
		if fault := json.Unmarshal(line, &t); fault != nil {
			panic(fault)
		}
		key := [2]int64{t.Client, t.Call}
		code, number := t.Status.(float64)
		switch {
		case t.Protocol != 0:
			if kind != "cenkalti-unseeded" { // as a program does that forgets rand.Seed (Go before 1.20)
				seed, _ := strconv.ParseUint(t.Seed, 10, 64)
				rand.Seed(int64(seed))
			}
			fmt.Fprintf(out, "{\"retrygate-policy\":1,\"name\":\"%s\"}\n", kind)
		case number && code >= 200 && code < 300 || t.Status == "OK":
			fmt.Fprintf(out, "{\"id\":%d,\"stop\":\"success\"}\n", t.ID)
		default:
			if calls[key] == nil {
				calls[key] = fresh()
			}
			if wait, again := calls[key](t); again {
				fmt.Fprintf(out, "{\"id\":%d,\"wait_ns\":%d}\n", t.ID, wait.Nanoseconds())
			} else {
				fmt.Fprintf(out, "{\"id\":%d,\"stop\":\"attempts\"}\n", t.ID)
			}
		}
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}
