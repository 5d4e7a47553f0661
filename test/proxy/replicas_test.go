package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/agent/agenttest"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/port"
)

// replicas are two hubs on one database, and an agent whose tunnel is at the first:
// requests to the second go through the first.
type replicas struct {
	t         *testing.T
	hubs      []*hubtest.Hub
	clients   []*sdk.Client
	namespace string
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	r := &replicas{t: t, namespace: c.Namespace(t)}
	database, key, admin := hubtest.Postgres(t), filepath.Join(t.TempDir(), "hub.key"), ""
	for _, name := range []string{"hub-0", "hub-1"} {
		address, err := port.Address()
		if err != nil {
			t.Fatal(err)
		}
		h := hubtest.New(t, hubtest.Config{AdminToken: admin, Hub: hubtest.HubConfig{
			DatabaseURL: database, KeyFile: key, Replica: name, Listen: address, AdvertiseURL: "http://" + address,
		}})
		admin = h.AdminToken
		client, err := sdk.New(sdk.Config{URL: h.URL, Token: admin})
		if err != nil {
			t.Fatal(err)
		}
		r.hubs, r.clients = append(r.hubs, h), append(r.clients, client)
	}
	made, err := r.clients[0].Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"}))
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Start(t, agenttest.Config{HubURL: r.hubs[0].URL, Kubeconfig: c.Kubeconfig(), BootstrapToken: made.Msg.GetBootstrapToken()})
	for i, h := range r.hubs {
		eventually.For(t, limit, fmt.Sprintf("replica %d reaches the cluster", i), func() error {
			return r.reaches(h, h.AdminToken)
		})
	}
	r.sleeper(c)
	return r
}

// sleeper is a pod in which commands run.
func (r *replicas) sleeper(c *kube.Cluster) {
	r.t.Helper()
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		r.t.Fatal(err)
	}
	none := false
	_, err = api.CoreV1().Pods(r.namespace).Create(r.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sleeper"},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: &none, Containers: []corev1.Container{{
			Name: "main", Image: kube.ImagePrefix + "sh:1", Args: []string{"-c", "exec sleep 3600"},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	eventually.For(r.t, limit, "the pod", func() error {
		pod, err := api.CoreV1().Pods(r.namespace).Get(r.t.Context(), "sleeper", metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("status %+v", pod.Status)
		}
		return err
	})
}

// reaches asks the cluster's API through one replica.
func (r *replicas) reaches(h *hubtest.Hub, token string) error {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, h.URL+"/k8s/clusters/edge/api/v1/namespaces/"+r.namespace+"/configmaps", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s", response.Status, readAll(response.Body))
	}
	return nil
}

// try sends a request by hand to one replica and returns what comes.
func (r *replicas) try(h *hubtest.Hub, request string) (*bufio.Reader, *http.Response, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		return nil, nil, err
	}
	r.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, nil, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	return reader, response, err
}

func (r *replicas) ask(h *hubtest.Hub, request string) (*bufio.Reader, *http.Response) {
	r.t.Helper()
	reader, response, err := r.try(h, request)
	if err != nil {
		r.t.Fatal(err)
	}
	return reader, response
}

// ticket asks one replica for what opens a command once.
func (r *replicas) ticket(i int, token, command string) string {
	r.t.Helper()
	client, err := sdk.New(sdk.Config{URL: r.hubs[i].URL, Token: token})
	if err != nil {
		r.t.Fatal(err)
	}
	made, err := client.ClusterAPI.CreateTicket(r.t.Context(), connect.NewRequest(&hubv1.CreateClusterTicketRequest{
		Cluster: "edge", Path: execPath(r.namespace, "sleeper", command),
	}))
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Msg.GetPath() + "?ticket=" + made.Msg.GetTicket()
}

func opening(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: hub\r\n" + webSocket + "\r\n\r\n"
}

// stream is the data of one open request through a replica.
type stream struct {
	name string
	body io.Reader
	// cut says that an end in order would be wrong.
	cut bool
}

// streams opens a watch, a command, and a command by ticket.
func (r *replicas) streams(i int, token string) []stream {
	r.t.Helper()
	h := r.hubs[i]
	head := " HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer " + token + "\r\n"
	_, watch := r.ask(h, "GET /k8s/clusters/edge/api/v1/namespaces/"+r.namespace+"/pods?watch=true"+head+"\r\n")
	if watch.StatusCode != http.StatusOK {
		r.t.Fatal(watch.Status)
	}
	command, answer := r.ask(h, "GET /k8s/clusters/edge"+execPath(r.namespace, "sleeper", "cat")+head+webSocket+"\r\n\r\n")
	if answer.StatusCode != http.StatusSwitchingProtocols {
		r.t.Fatal(answer.Status)
	}
	ticketed, answer := r.ask(h, opening(r.ticket(i, token, "cat")))
	if answer.StatusCode != http.StatusSwitchingProtocols {
		r.t.Fatal(answer.Status, readAll(answer.Body))
	}
	return []stream{{"a watch", watch.Body, true}, {"a command", command, false}, {"a command by ticket", ticketed, false}}
}

// TestRevokedTokenStopsWithin5s checks the open requests of a revoked token, at the
// replica that has the tunnel and at the other one: all of them end by themselves.
// What waits longest here is the condition, not the clock; the time that it took is
// printed.
func TestRevokedTokenStopsWithin5s(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	for revoking := range r.hubs {
		made, err := r.clients[0].Tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: fmt.Sprintf("for a while %d", revoking)}))
		if err != nil {
			t.Fatal(err)
		}
		token := made.Msg.GetSecret()
		var open [][]stream
		for i, h := range r.hubs {
			eventually.For(t, limit, "the new token is known", func() error { return r.reaches(h, token) })
			open = append(open, r.streams(i, token))
		}
		if _, err := r.clients[revoking].Tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: made.Msg.GetToken().GetId()})); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for i, streams := range open {
			for _, s := range streams {
				_, err := io.Copy(io.Discard, s.body)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("revoked at replica %d: %s through replica %d goes on", revoking, s.name, i)
				}
				if s.cut && err == nil {
					t.Errorf("%s through replica %d ended in order", s.name, i)
				}
			}
			if err := r.reaches(r.hubs[i], token); err == nil || !strings.Contains(err.Error(), "401") {
				t.Errorf("another request through replica %d: %v", i, err)
			}
			t.Logf("revoked at replica %d: all at replica %d ended after %v", revoking, i, time.Since(began).Round(10*time.Millisecond))
		}
	}
}

// TestTicketOpensOnceOverAllReplicas: a ticket that one replica made opens its
// WebSocket at the other, and then at none.
func TestTicketOpensOnceOverAllReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	for from := range r.hubs {
		at := r.hubs[1-from]
		path := r.ticket(from, r.hubs[from].AdminToken, "echo+from+the+pod")
		body, answer := r.ask(at, opening(path))
		if answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("made at %d: %s %s", from, answer.Status, readAll(answer.Body))
		}
		if text := readAll(body); !strings.Contains(text, "from the pod") {
			t.Errorf("the command printed %q", text)
		}
		for i, h := range r.hubs {
			if _, answer := r.ask(h, opening(path)); answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("made at %d and used: replica %d answers %s", from, i, answer.Status)
			}
		}
	}
	// Of many who use one at once, at both, one alone gets in.
	path := r.ticket(0, r.hubs[0].AdminToken, "true")
	codes := make(chan int)
	const uses = 8
	for i := range uses {
		go func() {
			_, answer, err := r.try(r.hubs[i%2], opening(path))
			if err != nil {
				t.Error(err)
				codes <- 0
				return
			}
			codes <- answer.StatusCode
		}()
	}
	got := map[int]int{}
	for range uses {
		got[<-codes]++
	}
	if got[http.StatusSwitchingProtocols] != 1 || got[http.StatusUnauthorized] != uses-1 {
		t.Errorf("answers by status: %v", got)
	}
}
