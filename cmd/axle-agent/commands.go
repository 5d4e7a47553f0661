package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/doctor"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/flagvalue"
)

// Marks of errors that decide the exit code.
var (
	// errUsage: the command line is wrong.
	errUsage = errors.New("see axle-agent --help")
	// errFailed: the work failed, regardless of its error's code.
	errFailed = errors.New("failed")
	// errReported: the output already describes the error.
	errReported = errors.New("some checks failed")
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "axle-agent",
		Short:         "The deployment agent of one cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          args(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w; %w", err, errUsage) })
	root.AddCommand(newRun(), newRender(), newHealth(), newDoctor(), newVersion())
	return root
}

// args turns a wrong number of arguments into a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return fmt.Errorf("%w; %w", err, errUsage)
		}
		return nil
	}
}

func newRun() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the agent: pull from the hub what the cluster should run, and apply it",
		Long: "Run the agent: pull from the hub what the cluster should run, and apply it, until stopped.\n\n" +
			"Every flag can be given as an environment variable: --hub-url is " + envName("hub-url") + ".",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			a, err := agent.New(o.config)
			if err != nil {
				return err
			}
			return a.Run(cmd.Context())
		},
	}
	o.connection(cmd.Flags())
	o.agent(cmd.Flags())
	return cmd
}

func newRender() *cobra.Command {
	var request agent.RenderRequest
	cmd := &cobra.Command{
		Use:   "render DIR",
		Short: "Print what an agent would apply for a folder, as YAML",
		Long: "Print what an agent would apply for a folder, as YAML documents.\nCharts see a cluster with the newest Kubernetes version and its built-in kinds, plus --api-versions; lookups find nothing.\n" +
			"With --kubeconfig, charts see that cluster, and lookups read it with your rights. Nothing is written.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := fromEnv(cmd.Flags()); err != nil {
				return err
			}
			request.Dir = given[0]
			debug.SetGCPercent(400) // it ends at once
			warnings, err := agent.RenderDir(cmd.Context(), cmd.OutOrStdout(), request)
			for _, w := range warnings {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
			}
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&request.ServiceFile, "service-file", "", "file with a ServiceDeployment (YAML) whose settings are used")
	cmd.Flags().StringVar(&request.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster that charts see and look up objects in (default: none)")
	cmd.Flags().StringVar(&request.KubernetesVersion, "kube-version", "", "Kubernetes version that charts see, such as v1.33.0")
	flagvalue.ListP(cmd.Flags(), &request.APIVersions, "api-versions", "a", "additional API versions that charts see, such as monitoring.coreos.com/v1 or monitoring.coreos.com/v1/ServiceMonitor")
	cmd.Flags().StringVar(&request.Binary, "render-binary", "", "path of axle-render (default: beside this program, then on $PATH)")
	cmd.Flags().StringVar(&request.Tools, "tools-dir", "", "folder of the tools and WebAssembly modules that renderers of type EXEC and WASM may name")
	return cmd
}

func newHealth() *cobra.Command {
	var request agent.HealthRequest
	cmd := &cobra.Command{
		Use:   "health -f OBJ.yaml",
		Short: "Judge the health of one object, as JSON",
		Long: "Judge the health of one object with the agent's rules, a script, expressions or a CustomHealth,\nand print {\"status\",\"message\"}.\n" +
			"The status is one of Healthy, Progressing, Degraded, Suspended, Missing, Unknown. \"-\" reads standard input.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if request.File == "" {
				return fmt.Errorf("--filename is required; %w", errUsage)
			}
			return failed(agent.HealthOf(cmd.Context(), cmd.OutOrStdout(), cmd.InOrStdin(), request))
		},
	}
	cmd.Flags().StringVarP(&request.File, "filename", "f", "", "file with the object (YAML or JSON)")
	cmd.Flags().StringVar(&request.Lua, "lua", "", "file with a Lua script that judges instead of the agent's own rules")
	cmd.Flags().StringVar(&request.CEL, "cel", "", "file with CEL expressions (suspended, inProgress, failed, current, message) that judge instead of the agent's own rules")
	cmd.Flags().StringVar(&request.Rule, "rule", "", "file with a CustomHealth whose script or expressions judge its kind")
	cmd.Flags().StringVar(&request.Binary, "render-binary", "", "path of axle-render, for expressions (default: beside this program, then on $PATH)")
	return cmd
}

func newDoctor() *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what an agent needs: DNS, hub, TLS, clock, WebSocket, cluster, rights, disk",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			ok := true
			for check := range doctor.Run(cmd.Context(), o.config) {
				word := "OK  "
				switch {
				case check.Problem != "":
					word, ok = "FAIL", false
				case check.Skipped:
					word = "--  "
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s  %-10s %s\n", word, check.Name, strings.TrimSpace(check.Detail+check.Problem))
				if check.Fix != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "      %-10s %s\n", "", check.Fix)
				}
			}
			if !ok {
				return errReported
			}
			return nil
		},
	}
	o.connection(cmd.Flags())
	cmd.Flags().StringVar(&o.config.RenderBinary, "render-binary", "", "path of axle-render (default: beside this program, then on $PATH)")
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "axle-agent %s (%s, %s)\n", buildinfo.Version, buildinfo.Commit(), buildinfo.Go())
			return err
		},
	}
}

// failed marks an error in a file's content: the command line was right, so that the
// exit code is not the one for wrong usage.
func failed(err error) error {
	if err == nil || errors.Is(err, agent.ErrArgument) {
		return err
	}
	return fmt.Errorf("%w%w", err, quiet{errFailed})
}

// quiet marks an error without adding to its text.
type quiet struct{ error }

// Error returns nothing.
func (quiet) Error() string { return "" }

// Unwrap returns the mark.
func (q quiet) Unwrap() error { return q.error }
