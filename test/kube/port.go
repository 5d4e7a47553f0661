package kube

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freePort picks a port that nobody listens on. It stays below 32768, where
// Linux begins to hand out ports to outgoing connections, so that the port is
// still free when its program starts or restarts. Another process may pick the
// same one in the same moment; who starts a program tries again then.
func freePort() (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(12000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		listener.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port between 20000 and 32000 on 127.0.0.1 after 100 tries")
}

// portTries bounds how often a program is started anew on another port.
const portTries = 5
