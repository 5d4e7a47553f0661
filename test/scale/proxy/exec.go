package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
)

// execs measures commands: a byte there and back, and whole ones, each of a
// client that is a new process to the hub: a connection of its own, with a full
// handshake.
func (b *proxyBench) execs(ctx context.Context) error {
	b.w.Cluster(proxyCluster).SetBinary("sh", "/bin/sh")
	api, err := kubernetes.NewForConfig(b.w.Cluster(proxyCluster).Config())
	if err != nil {
		return err
	}
	none := false
	pods := api.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shell"}, Spec: corev1.PodSpec{
		AutomountServiceAccountToken: &none, Containers: []corev1.Container{{Name: "main", Image: "axle.test/sh:1", Args: []string{"-c", "exec sleep 86400"}}},
	}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = eventually.Wait(ctx, proxyWait, func() error {
		pod, err := pods.Get(ctx, "shell", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the pod is %s", pod.Status.Phase)
		}
		return err
	})
	if err != nil {
		return err
	}
	cat, err := b.exec(ctx, "cat")
	if err != nil {
		return err
	}
	defer cat.Close()
	var trips []float64
	for range b.Requests {
		began := time.Now()
		if err := cat.echo(); err != nil {
			return err
		}
		trips = append(trips, float64(time.Since(began).Microseconds())/1000)
	}
	b.result.ExecRTT = percentile(trips, 50)
	run := func(n int) error {
		for range n {
			e, err := b.exec(ctx, "true")
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, e.reader)
			e.Close()
		}
		return nil
	}
	if err := run(warmCommands); err != nil {
		return err
	}
	costs, err := b.costs(commands, run)
	if err != nil {
		return err
	}
	b.result.ExecCPULeast, b.result.ExecCPU, b.result.ExecCPUMost = costs[0], percentile(costs, 50), costs[len(costs)-1]
	return nil
}

const (
	// commands are run in each round, and warmCommands before all.
	commands     = 50
	warmCommands = 20
)

// execution is a WebSocket to a command.
type execution struct {
	net.Conn
	reader *bufio.Reader
}

func (b *proxyBench) exec(ctx context.Context, command string) (*execution, error) {
	u, err := url.Parse(b.over.Host)
	if err != nil {
		return nil, err
	}
	config, err := rest.TLSConfigFor(b.over)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "GET %s/api/v1/namespaces/default/pods/shell/exec?stdin=true&stdout=true&command=%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
		u.Path, command, u.Host, b.over.BearerToken)
	e := &execution{conn, bufio.NewReader(conn)}
	response, err := http.ReadResponse(e.reader, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("exec %s: %s", command, response.Status), conn.Close())
	}
	return e, nil
}

// echo sends a byte to the command's input and waits for it.
func (e *execution) echo() error {
	// A whole masked frame of two bytes: the channel of the input, and "x". A
	// mask of zeros changes nothing.
	if _, err := e.Write([]byte{0x82, 0x80 | 2, 0, 0, 0, 0, 0, 'x'}); err != nil {
		return err
	}
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(e.reader, head); err != nil {
			return err
		}
		size := int64(head[1])
		if size == 126 {
			var long [2]byte
			if _, err := io.ReadFull(e.reader, long[:]); err != nil {
				return err
			}
			size = int64(binary.BigEndian.Uint16(long[:]))
		}
		text, err := io.ReadAll(io.LimitReader(e.reader, size))
		if err != nil {
			return err
		}
		if len(text) > 1 && text[0] == 1 {
			return nil
		}
	}
}
