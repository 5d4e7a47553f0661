// Command page serves one page, for a pod whose port is forwarded.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "", "address")
	text := flag.String("text", "", "the page")
	flag.Parse()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, *text) })
	server := &http.Server{Addr: *listen, Handler: page, ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
