package command

import (
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/internal/errcode"
)

// Kubeconfig loads a context of a kubeconfig; empty means the defaults of kubectl.
// Errors are Invalid.
func Kubeconfig(path, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "cannot load a kubeconfig for the cluster: %w; pass --kubeconfig", err)
	}
	return config, nil
}

// Kubectl begins a command line of kubectl for a context of a kubeconfig, whatever the current
// one is, from whichever folder; empty means the defaults of kubectl.
func Kubectl(path, context string) string {
	words := []string{"kubectl"}
	if path != "" {
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		words = append(words, "--kubeconfig", path)
	}
	if context != "" {
		words = append(words, "--context", context)
	}
	return confirm.Line(words)
}
