// Command guest is the image that pods of a test node run beside our own. Without
// arguments it waits until it is told to end, which is all that the container that holds
// a pod's namespaces does. With arguments it serves them as a page, on port 8080.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	if len(os.Args) > 1 {
		text := strings.Join(os.Args[1:], " ")
		server := &http.Server{Addr: ":8080", ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, text)
		})}
		go func() {
			fmt.Fprintln(os.Stderr, server.ListenAndServe())
			os.Exit(1)
		}()
	}
	<-ended
}
