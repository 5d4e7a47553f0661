// Command page serves one page, for a pod whose port is forwarded.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "", "address")
	text := flag.String("text", "", "the page")
	flag.Parse()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, *text) })
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("listening")
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second}
	fmt.Println(server.Serve(listener))
	os.Exit(1)
}
