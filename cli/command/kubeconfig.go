package command

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

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
