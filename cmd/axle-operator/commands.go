package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/daemon"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/operator"
)

// errUsage marks errors of the command line.
var errUsage = errors.New("see axle-operator --help")

// envPrefix is the prefix of every flag's environment variable.
const envPrefix = "AXLE_OPERATOR_"

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "axle-operator",
		Short: "Write the custom resources of a management cluster to the hub",
		Example: "  axle-operator run --hub-url https://axle.example.com --token-file /etc/axle/token\n" +
			"  axle-operator run --kubeconfig ~/.kube/config --hub-url https://axle.example.com --token-file token --admin-namespaces infra",
		Version:       fmt.Sprintf("%s (%s, %s)", buildinfo.Version, buildinfo.Commit(), buildinfo.Go()),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("axle-operator {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w; %w", err, errUsage) })
	root.AddCommand(newRun(), newDefinitions(), newVersion())
	return root
}

// noArgs is a usage error for arguments.
func noArgs(cmd *cobra.Command, given []string) error {
	if err := cobra.NoArgs(cmd, given); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	return nil
}

func newDefinitions() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "crds",
		Short: "Apply the custom resource definitions of this version",
		Long: "Apply the custom resource definitions of this version to the cluster, server-side, and end. The chart runs it before each install and upgrade.\n\n" +
			"It refuses while the operator of another product runs on the same kinds, and reports how to stop it.",
		Example: "  axle-operator crds --kubeconfig ~/.kube/config",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			count, err := operator.ApplyDefinitions(cmd.Context(), kubeconfig)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d custom resource definitions are applied\n", count)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: the pod's own account)")
	return cmd
}

// options are the flags.
type options struct {
	config    operator.Config
	logFormat string
	logLevel  string
}

func newRun() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the operator",
		Long: "Run the operator: write what custom resources declare to the hub, until stopped.\n\n" +
			"Every flag can be given as an environment variable: --hub-url is " + daemon.EnvName(envPrefix, "hub-url") + ".",
		Example: "  axle-operator run --hub-url https://axle.example.com --service-account-token-file /var/run/secrets/axle/token --admin-namespaces axle-system,infra\n" +
			"  axle-operator run --kubeconfig ~/.kube/config --hub-url https://axle.example.com --token-file token --leader-elect=false",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			return operator.Run(cmd.Context(), o.config)
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *options) flags(flags *pflag.FlagSet) {
	c := &o.config
	flags.StringVar(&c.HubURL, "hub-url", "", "URL of the hub, such as https://axle.example.com")
	flags.StringVar(&c.TokenFile, "token-file", "", "file with an API token of the hub; read again when it changes")
	flags.StringVar(&c.ServiceAccountTokenFile, "service-account-token-file", "", "in place of --token-file: file with a projected token of the operator's ServiceAccount, whose audience is the hub's URL; read again for each login")
	flags.StringVar(&c.CAFile, "ca-file", "", "PEM file of certificate authorities to trust for the hub, instead of the system's")
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: the pod's own account)")
	flags.StringVar(&c.Namespace, "namespace", operator.DefaultNamespace, "namespace of the operator and its lease")
	flagvalue.List(flags, &c.AdminNamespaces, "admin-namespaces", "namespaces whose objects act with the operator's token; objects elsewhere need NamespaceCredentials (default: --namespace)")
	flagvalue.List(flags, &c.OwnSecrets, "own-secrets", "Secrets of the control plane in --namespace, such as the one with its database, which no object may name")
	flags.BoolVar(&c.LeaderElect, "leader-elect", true, "wait for a lease, so that one replica acts at a time")
	flags.IntVar(&c.Workers, "workers", 0, "objects of each kind to reconcile at a time (default 8)")
	flags.StringVar(&c.MetricsListen, "metrics-listen", ":9090", "address of /metrics, or \"off\"")
	flags.StringVar(&c.HealthListen, "health-listen", ":8081", "address of /healthz and /readyz, or \"off\"")
	flags.StringVar(&o.logFormat, "log-format", "text", "format of the log: text or json")
	flags.StringVar(&o.logLevel, "log-level", "info", "level of the log: debug, info, warn or error")
}

// finish reads the environment, and sends the log of libraries to ours.
func (o *options) finish(cmd *cobra.Command) error {
	if err := daemon.FromEnv(cmd.Flags(), envPrefix); err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if o.config.Workers < 0 {
		return fmt.Errorf("--workers %d is negative; %w", o.config.Workers, errUsage)
	}
	log, err := daemon.Logger(os.Stderr, o.logFormat, o.logLevel)
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	o.config.Log = log
	logger := logr.FromSlogHandler(log.Handler())
	ctrllog.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "axle-operator %s (%s, %s)\n", buildinfo.Version, buildinfo.Commit(), buildinfo.Go())
			return err
		},
	}
}
