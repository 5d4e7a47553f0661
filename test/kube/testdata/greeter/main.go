// Command greeter is a small program for the process kubelet's own tests. It reports
// its environment, serves a page, and exits as it is told: -exit ends it at once with
// that code.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	exit := flag.Int("exit", -1, "end at once with this code")
	read := flag.String("read", "", "print the content of this file")
	write := flag.String("write", "", "write a file there")
	listen := flag.String("listen", "", "serve a page at this address")
	tick := flag.Duration("tick", 0, "say a line this often")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	host, _ := os.Hostname()
	fmt.Printf("hello from %s, greeting=%s secret=%s\n", host, os.Getenv("GREETING"), os.Getenv("SECRET"))
	fmt.Fprintln(os.Stderr, "this goes to stderr")
	if *read != "" {
		content, err := os.ReadFile(*read)
		fmt.Printf("file %s: %q err=%v\n", *read, content, err)
	}
	if *write != "" {
		fmt.Printf("wrote %s: err=%v\n", *write, os.WriteFile(*write, []byte("written"), 0o644))
	}
	if *exit >= 0 {
		os.Exit(*exit)
	}
	if *listen != "" {
		go serve(*listen)
	}
	if *tick > 0 {
		go talk(ctx, *tick)
	}
	<-ctx.Done()
	fmt.Println("goodbye")
}

// talk counts aloud.
func talk(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fmt.Println("tick", n)
		}
	}
}

func serve(address string) {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "a page") })
	server := &http.Server{Addr: address, ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
