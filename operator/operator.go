package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/controller"
	"github.com/axle-cd/axle/operator/ownership"
	"github.com/axle-cd/axle/operator/tenancy"
	"github.com/axle-cd/axle/sdk"
)

// DefaultNamespace is where the operator runs, and the only admin namespace unless
// others are given.
const DefaultNamespace = "axle-system"

// Off as an address turns an endpoint off.
const Off = "off"

// Config configures an operator. HubURL and one of the token files are required.
type Config struct {
	// HubURL is the URL of the hub.
	HubURL string
	// TokenFile holds an API token of the hub; it is read again when it changes.
	TokenFile string
	// ServiceAccountTokenFile, in place of TokenFile, holds a projected token of the
	// operator's ServiceAccount, whose audience is HubURL. It is exchanged for tokens
	// of the hub, and read again for each.
	ServiceAccountTokenFile string
	// CAFile is a PEM file of authorities to trust for the hub instead of the system's.
	CAFile string
	// Kubeconfig reaches the cluster from outside; empty is the pod's own account.
	Kubeconfig string
	// Namespace of the lease; empty is DefaultNamespace.
	Namespace string
	// AdminNamespaces are the namespaces whose objects act with the operator's token;
	// empty is Namespace.
	AdminNamespaces []string
	// OwnSecrets are the Secrets of the control plane in Namespace, such as the one with
	// its database: no object may name them.
	OwnSecrets []string
	// LeaderElect waits for the lease before anything is written.
	LeaderElect bool
	// Workers of each kind for one namespace; zero is 8. There are as many again for the
	// other namespaces.
	Workers int
	// MetricsListen and HealthListen are addresses of /metrics, and of /healthz and
	// /readyz; empty and Off are none.
	MetricsListen, HealthListen string
	// Log is where lines go; nil is slog's default.
	Log *slog.Logger
	// Timing is for tests.
	Timing controller.Timing
}

// Run runs the operator until the context ends. Errors of the configuration are
// Invalid.
func Run(ctx context.Context, c Config) error {
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	if len(c.AdminNamespaces) == 0 {
		c.AdminNamespaces = []string{c.Namespace}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	cluster, err := c.cluster()
	if err != nil {
		return err
	}
	options, err := c.options()
	if err != nil {
		return err
	}
	m, err := manager.New(cluster, options)
	if err != nil {
		return fmt.Errorf("reach the cluster at %s: %w", cluster.Host, err)
	}
	uid, err := clusterUID(ctx, m.GetAPIReader())
	if err != nil {
		return err
	}
	err = errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("ping", healthz.Ping),
		controller.Add(ctx, m, controller.Config{
			Clients: hub, AdminNamespaces: c.AdminNamespaces, OwnSecrets: c.ownSecrets(), ClusterUID: uid, Workers: c.Workers, Timing: c.Timing, Log: c.Log,
		}))
	if err != nil {
		return err
	}
	c.Log.Info("the operator starts", "version", buildinfo.Version, "hub", c.HubURL, "cluster", cluster.Host, "admin_namespaces", c.AdminNamespaces)
	return m.Start(ctx)
}

// clusterUID returns what tells this cluster from others: the uid of kube-system.
func clusterUID(ctx context.Context, from client.Reader) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var system corev1.Namespace
	if err := from.Get(ctx, client.ObjectKey{Name: "kube-system"}, &system); err != nil {
		return "", fmt.Errorf("read the uid of the namespace kube-system, which identifies this cluster at the hub: %w", err)
	}
	return string(system.UID), nil
}

func (c Config) hub() (*tenancy.Clients, error) {
	if c.HubURL == "" || (c.TokenFile == "") == (c.ServiceAccountTokenFile == "") {
		return nil, errcode.New(errcode.Invalid, "the operator needs the URL of the hub (--hub-url), and a file with the token of its ServiceAccount (--service-account-token-file) or with one of the hub (--token-file)")
	}
	config := sdk.Config{URL: c.HubURL, UserAgent: "axle-operator/" + buildinfo.Version}
	if c.CAFile != "" {
		text, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "read the certificate authorities of the hub: %w", err)
		}
		config.CAPEM = text
	}
	if c.ServiceAccountTokenFile != "" {
		return tenancy.NewExchangingClients(config, c.ServiceAccountTokenFile)
	}
	return tenancy.NewClients(config, c.TokenFile)
}

func (c Config) cluster() (*rest.Config, error) {
	var config *rest.Config
	var err error
	if c.Kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "find the cluster (outside of one, give --kubeconfig): %w", err)
	}
	config.UserAgent = "axle-operator/" + buildinfo.Version
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// ownSecrets are OwnSecrets with their namespace.
func (c Config) ownSecrets() []types.NamespacedName {
	var out []types.NamespacedName
	for _, name := range c.OwnSecrets {
		out = append(out, types.NamespacedName{Namespace: c.Namespace, Name: name})
	}
	return out
}

// options are those of the manager.
func (c Config) options() (manager.Options, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), axlev1alpha1.AddToScheme(scheme)); err != nil {
		return manager.Options{}, err
	}
	namespaces := map[string]cache.Config{}
	for _, namespace := range c.AdminNamespaces {
		namespaces[namespace] = cache.Config{}
	}
	watched := cache.ByObject{Namespaces: namespaces}
	return manager.Options{
		Scheme: scheme,
		Logger: logr.FromSlogHandler(c.Log.Handler()),
		Cache: cache.Options{
			// No Secret is read where none may be used.
			ByObject:         map[client.Object]cache.ByObject{&corev1.Secret{}: watched, &corev1.ConfigMap{}: watched},
			DefaultTransform: ownership.Trim,
		},
		LeaderElection: c.LeaderElect, LeaderElectionID: "axle-operator", LeaderElectionNamespace: c.Namespace, LeaderElectionReleaseOnCancel: true,
		Metrics:                metricsserver.Options{BindAddress: address(c.MetricsListen)},
		HealthProbeBindAddress: address(c.HealthListen),
	}, nil
}

// address is what the manager calls off.
func address(listen string) string {
	if listen == "" || listen == Off {
		return "0"
	}
	return listen
}
