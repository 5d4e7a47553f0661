package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// serveBodies has the API server take this process for a pod: it answers a GET
// with as many bytes as the path says, and reads what is sent.
func (b *proxyBench) serveBodies(ctx context.Context) error {
	ip, err := outerAddress()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return err
	}
	chunk := make([]byte, 256<<10)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		size, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		for size > 0 && r.Context().Err() == nil {
			n, err := w.Write(chunk[:min(size, len(chunk))])
			if size -= n; err != nil {
				return
			}
		}
	})}
	go func() { _ = server.Serve(listener) }() // ends with the process
	if _, b.port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(b.w.Cluster(proxyCluster).Config())
	if err != nil {
		return err
	}
	// An agent beside its cluster has no manifests that would.
	_, err = api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "axle-admins"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "axle:admins"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pods := api.CoreV1().Pods("default")
	none := false
	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bodies"}, Spec: corev1.PodSpec{
		// On no node, or the cluster would collect it after a minute.
		SchedulerName: "nobody", AutomountServiceAccountToken: &none, Containers: []corev1.Container{{Name: "main", Image: "none"}},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// outerAddress is one of this machine's beside the loopback, to which API
// servers proxy nothing.
func outerAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.IsGlobalUnicast() {
			return prefix.IP.String(), nil
		}
	}
	return "", errors.New("this machine has only loopback addresses: ip addr add 192.0.2.2/32 dev lo")
}

// watches measures what open watches on which nothing happens take.
func (b *proxyBench) watches(ctx context.Context) error {
	before, err := b.memory()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range b.Watches {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.over.Host+"/api/v1/namespaces/kube-node-lease/configmaps?watch=true&resourceVersion=0&labelSelector=none%3Dat-all", nil)
		if err != nil {
			return err
		}
		response, err := b.client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("a watch: %s", response.Status)
		}
	}
	after, err := b.memory()
	b.result.RSSPerWatch = float64(after-before) / 1024 / float64(b.Watches)
	return err
}

// stalled times GETs beside 50 clients that read nothing of a large answer.
func (b *proxyBench) stalled(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range 50 {
		client, err := rest.HTTPClientFor(rest.CopyConfig(b.over))
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.over.Host+fmt.Sprintf(proxyPath, b.port, 1<<30), nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		group.Go(func() { <-ctx.Done(); response.Body.Close() })
	}
	var times []float64
	for range 100 {
		began := time.Now()
		if err := b.ask(ctx, "/api/v1/namespaces/default"); err != nil {
			return err
		}
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	b.result.FastBesideStalled = percentile(times, 50)
	return nil
}
