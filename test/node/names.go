package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/test/program"
)

// domain ends the names of Services.
const domain = ".svc.cluster.local"

// startNames starts the DNS server that pods ask, and keeps it at what the Services of the
// cluster are, until Close.
func (n *Node) startNames(ctx context.Context) error {
	if err := os.WriteFile(n.path("names"), nil, 0o644); err != nil {
		return err
	}
	server, err := n.startPart("dnsmasq", "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--user=root", "--pid-file=",
		"--no-resolv", "--no-hosts", "--addn-hosts="+n.path("names"), "--listen-address="+Address, "--bind-interfaces", "--local=/cluster.local/")
	if err != nil {
		return err
	}
	// Before it listens, the signal would end it.
	err = n.waitFor(ctx, server, func(ctx context.Context) error {
		out, err := exec.CommandContext(ctx, enter[0], enter[1], "ss", "-Hlun", "sport = :53").Output()
		if err == nil && len(out) == 0 {
			err = fmt.Errorf("dnsmasq does not listen")
		}
		return err
	})
	if err != nil {
		return err
	}
	return n.followNames(server)
}

// followNames tells the server each change of the Services.
func (n *Node) followNames(server *program.Program) error {
	factory := informers.NewSharedInformerFactory(n.client, time.Minute)
	services, endpoints := factory.Core().V1().Services(), factory.Discovery().V1().EndpointSlices()
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	mark := func(any) {
		select {
		case changed <- struct{}{}:
		default: // it is marked
		}
	}
	for _, informer := range []cache.SharedIndexInformer{services.Informer(), endpoints.Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: mark, UpdateFunc: func(_, obj any) { mark(obj) }, DeleteFunc: mark}); err != nil {
			return err
		}
	}
	n.background(func(ctx context.Context) {
		factory.StartWithContext(ctx)
		defer factory.Shutdown()
		factory.WaitForCacheSyncWithContext(ctx)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			all, unlisted := services.Lister().List(labels.Everything())
			parts, err := endpoints.Lister().List(labels.Everything())
			if err = errors.Join(unlisted, err); err == nil {
				err = n.tellNames(server, hosts(all, parts))
			}
			if err != nil && ctx.Err() == nil {
				n.say("tell pods the names of Services: %v", err)
			}
		}
	})
	return nil
}

// tellNames gives the server its names.
func (n *Node) tellNames(server *program.Program, text string) error {
	if err := atomicfile.Write(n.path("names"), []byte(text), 0o644); err != nil {
		return err
	}
	server.Signal(syscall.SIGHUP) // it reads the file anew
	return nil
}

// hosts are the names of Services and of pods behind them, as in /etc/hosts.
func hosts(services []*corev1.Service, parts []*discoveryv1.EndpointSlice) string {
	var lines []string
	headless := map[string]*corev1.Service{}
	for _, s := range services {
		name := s.Name + "." + s.Namespace + domain
		switch s.Spec.ClusterIP {
		case "":
		case corev1.ClusterIPNone:
			headless[s.Namespace+"/"+s.Name] = s
		default:
			lines = append(lines, s.Spec.ClusterIP+" "+name)
		}
	}
	for _, part := range parts {
		s := headless[part.Namespace+"/"+part.Labels[discoveryv1.LabelServiceName]]
		if s == nil {
			continue
		}
		name := s.Name + "." + s.Namespace + domain
		for _, e := range part.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready && !s.Spec.PublishNotReadyAddresses {
				continue
			}
			for _, address := range e.Addresses {
				lines = append(lines, address+" "+name)
				if e.Hostname != nil {
					lines = append(lines, address+" "+*e.Hostname+"."+name)
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(append(lines, ""), "\n")
}
