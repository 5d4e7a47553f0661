package services

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
)

// configView is one key of a service's configuration.
type configView struct {
	Key string `json:"key"`
	// Value is empty for a secret. Hash distinguishes secret values.
	Value  string      `json:"value"`
	Secret bool        `json:"secret"`
	Hash   string      `json:"hash,omitempty"`
	From   string      `json:"from"`
	Layers []layerView `json:"layers"`
}

// layerView is the value of a key in one layer.
type layerView struct {
	Layer  string `json:"layer"`
	Source string `json:"source"`
	Value  string `json:"value"`
	Secret bool   `json:"secret"`
	Hash   string `json:"hash,omitempty"`
	Counts bool   `json:"counts"`
}

// shown is the value as a table shows it.
func (l layerView) shown() string {
	if l.Secret {
		return "(secret " + l.Hash + ")"
	}
	return l.Value
}

func (l layerView) from() string { return strings.TrimSpace(l.Layer + " " + l.Source) }

func configViewOf(v *hubv1.ConfigValue) configView {
	view := configView{Key: v.GetKey(), Layers: []layerView{}}
	for i, l := range v.GetLayers() {
		view.Layers = append(view.Layers, layerView{l.GetLayer(), l.GetSource(), l.GetValue(), l.GetSecret(), l.GetHash(), i == 0})
	}
	if len(view.Layers) > 0 {
		first := view.Layers[0]
		view.Value, view.Secret, view.Hash, view.From = first.Value, first.Secret, first.Hash, first.from()
	}
	return view
}

func configCommand(a *command.App) *cobra.Command {
	var cluster, explain string
	c := &cobra.Command{
		Use: "config CLUSTER/NAME", Short: "Show a service's configuration and where each value comes from",
		Long: `Show the configuration that templates see at the present revision. If two layers
have the same key, the later layer wins:

  cluster     the cluster's metadata
  context     the contexts that the service binds, in order
  import      the outputs that it imports, in order
  service     its own configuration and secrets
  reference   its references to a backend (secretRefs)

Secrets are shown as a short hash that changes when the value changes.`,
		Example: `  axle services config edge-1/web
  axle services config edge-1/web --explain replicas`,
		Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, ref, err := a.Service(args[0], cluster)
			if err != nil {
				return err
			}
			config, err := client.Services.Config(c.Context(), connect.NewRequest(&hubv1.GetServiceConfigRequest{Ref: ref}))
			if err != nil {
				return err
			}
			views := []configView{}
			for _, v := range config.Msg.GetValues() {
				views = append(views, configViewOf(v))
			}
			if explain == "" {
				return printConfig(a, views)
			}
			at := slices.IndexFunc(views, func(v configView) bool { return v.Key == explain })
			if at < 0 {
				return errcode.New(errcode.NotFound, "%s/%s has no key %q in any layer; it has %s", ref.GetCluster(), ref.GetName(), explain, cmp.Or(strings.Join(keysOf(views), ", "), "none at all"))
			}
			return printLayers(a, views[at])
		},
	}
	c.Flags().StringVar(&explain, "explain", "", "show every layer that has this key")
	c.PersistentFlags().StringVar(&cluster, "cluster", "", "cluster, if the argument is only NAME")
	c.AddCommand(configSet(a, &cluster), configUnset(a, &cluster))
	return c
}

func keysOf(views []configView) (keys []string) {
	for _, v := range views {
		keys = append(keys, v.Key)
	}
	return keys
}

func printConfig(a *command.App, views []configView) error {
	return command.PrintList(a, views, func(v configView) string { return v.Key },
		command.Col("KEY", func(v configView) string { return v.Key }),
		command.Col("VALUE", func(v configView) string { return v.Layers[0].shown() }),
		command.Col("FROM", func(v configView) string { return v.From }),
		command.Col("INSTEAD OF", func(v configView) string {
			var others []string
			for _, l := range v.Layers[1:] {
				others = append(others, l.from())
			}
			return strings.Join(others, ", ")
		}),
	)
}

func printLayers(a *command.App, v configView) error {
	if output.Data(a.Output) {
		return a.Encode(v)
	}
	return command.PrintList(a, v.Layers, func(l layerView) string { return l.from() },
		command.Col("LAYER", func(l layerView) string { return l.Layer }),
		command.Col("SOURCE", func(l layerView) string { return l.Source }),
		command.Col("VALUE", layerView.shown),
		command.Col("COUNTS", func(l layerView) string {
			if l.Counts {
				return "yes"
			}
			return ""
		}),
	)
}

// change is how a verb changes the values of a service.
type change struct {
	spec   *hubv1.ServiceSpec
	fields []string
}

func newChange() *change {
	return &change{spec: &hubv1.ServiceSpec{Configuration: map[string]string{}, Secrets: map[string]string{}, SecretRefs: map[string]*hubv1.SecretRef{}}}
}

// clear removes a key from wherever it is set.
func (ch *change) clear(key string) {
	ch.fields = append(ch.fields, "configuration."+key, "secrets."+key, "secretRefs."+key)
}

func changeConfig(a *command.App, c *cobra.Command, argument, cluster string, ch *change) error {
	ref, err := command.ServiceRef(argument, cluster)
	if err != nil {
		return err
	}
	for _, field := range ch.fields {
		if _, key, _ := strings.Cut(field, "."); strings.Contains(key, ".") {
			return exitcode.Usagef("key %q has a dot; set it in a file with axle apply -f", key)
		}
	}
	client, err := a.Client()
	if err != nil {
		return err
	}
	s, err := client.Services.Update(c.Context(), connect.NewRequest(&hubv1.UpdateServiceRequest{Ref: ref, Spec: ch.spec, Fields: ch.fields}))
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "service %s/%s updated, revision %d\n", ref.GetCluster(), ref.GetName(), s.Msg.GetRevision())
	return nil
}

func configSet(a *command.App, cluster *string) *cobra.Command {
	var secrets, references []string
	c := &cobra.Command{
		Use: "set CLUSTER/NAME [KEY=VALUE…]", Short: "Set values of a service and keep the others", Args: command.AtLeast(1),
		Example: `  axle services config set edge-1/web replicas=3
  axle services config set edge-1/web --secret password=env:DB_PASSWORD
  axle services config set edge-1/web --ref token=vault:apps/web#token`,
		RunE: func(c *cobra.Command, args []string) error {
			ch := newChange()
			for _, pair := range args[1:] {
				key, value, ok := strings.Cut(pair, "=")
				if !ok || key == "" {
					return exitcode.Usagef("%q is not KEY=VALUE", pair)
				}
				ch.clear(key)
				ch.spec.Configuration[key] = value
			}
			values, err := a.SecretValues(secrets)
			if err != nil {
				return err
			}
			for key, value := range values {
				ch.clear(key)
				ch.spec.Secrets[key] = value
			}
			for _, text := range references {
				key, r, err := reference(text)
				if err != nil {
					return err
				}
				ch.clear(key)
				ch.spec.SecretRefs[key] = r
			}
			if len(ch.fields) == 0 {
				return exitcode.Usagef("give something to set: KEY=VALUE, --secret or --ref")
			}
			return changeConfig(a, c, args[0], *cluster, ch)
		},
	}
	c.Flags().StringArrayVar(&secrets, "secret", nil, "secret value, KEY=FILE; FILE can be - for standard input or env:NAME for an environment variable")
	c.Flags().StringArrayVar(&references, "ref", nil, "read the value from a backend, KEY=BACKEND:PATH[#NAME]")
	return c
}

// reference parses KEY=BACKEND:PATH[#NAME].
func reference(text string) (string, *hubv1.SecretRef, error) {
	key, rest, _ := strings.Cut(text, "=")
	backend, path, ok := strings.Cut(rest, ":")
	if !ok || key == "" || path == "" {
		return "", nil, exitcode.Usagef("--ref %q is not KEY=BACKEND:PATH[#NAME]", text)
	}
	path, name, _ := strings.Cut(path, "#")
	return key, &hubv1.SecretRef{Backend: backend, Path: path, Key: name}, nil
}

func configUnset(a *command.App, cluster *string) *cobra.Command {
	return &cobra.Command{
		Use: "unset CLUSTER/NAME KEY…", Short: "Remove values, secrets or references of a service", Args: command.AtLeast(2),
		RunE: func(c *cobra.Command, args []string) error {
			client, ref, err := a.Service(args[0], *cluster)
			if err != nil {
				return err
			}
			s, err := client.Services.Get(c.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
			if err != nil {
				return err
			}
			ch := newChange()
			for _, key := range args[1:] {
				if !owns(s.Msg.GetSpec(), key) {
					return errcode.New(errcode.NotFound, "%s/%s has no value %q of its own; axle services config %s/%s shows where each value comes from", ref.GetCluster(), ref.GetName(), key, ref.GetCluster(), ref.GetName())
				}
				ch.clear(key)
			}
			return changeConfig(a, c, args[0], *cluster, ch)
		},
	}
}

// owns reports whether a service itself has a value, a secret or a reference.
func owns(spec *hubv1.ServiceSpec, key string) bool {
	_, plain := spec.GetConfiguration()[key]
	_, secret := spec.GetSecrets()[key]
	_, reference := spec.GetSecretRefs()[key]
	return plain || secret || reference
}
