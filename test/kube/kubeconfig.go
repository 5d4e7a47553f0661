package kube

import (
	"fmt"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// config is a client's with a bearer token.
func (c *Cluster) config(token string) *rest.Config {
	cfg := c.anonymous()
	cfg.BearerToken = token
	return cfg
}

// anonymous trusts the cluster and has no credentials. It does not throttle
// itself: tests measure the program, not client-go's bucket.
func (c *Cluster) anonymous() *rest.Config {
	return &rest.Config{Host: c.URL(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem}}
}

// ConfigFor is the configuration of a client that the API server authenticates as the
// user with these groups, by a new client certificate. Any name is possible; RBAC
// objects decide its rights.
func (c *Cluster) ConfigFor(user string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.client(user, groups)
	if err != nil {
		return nil, fmt.Errorf("sign a client certificate for %s: %w", user, err)
	}
	cfg := c.anonymous()
	cfg.CertData, cfg.KeyData = pair.cert, pair.key
	return cfg, nil
}

// ServingCertificate signs a certificate of a cluster's authority for a server, and
// returns it and its key in PEM. The API server trusts it on a kubelet.
func ServingCertificate(c *Cluster, name string, addresses ...string) (certificate, key []byte, err error) {
	pair, err := c.ca.serving(name, addresses...)
	return pair.cert, pair.key, err
}

// KubeconfigFor writes a kubeconfig file with ConfigFor's credentials and
// returns its path.
func (c *Cluster) KubeconfigFor(user string, groups ...string) (string, error) {
	cfg, err := c.ConfigFor(user, groups...)
	if err != nil {
		return "", err
	}
	return c.writeKubeconfig(user, cfg)
}

// KubeconfigWithToken writes a kubeconfig file for the holder of a bearer token,
// such as one of ClusterConfig.Users or of a service account, and returns its
// path. The name tells the files apart.
func (c *Cluster) KubeconfigWithToken(name, token string) (string, error) {
	return c.writeKubeconfig(name, c.config(token))
}

func (c *Cluster) kubeconfigPath(user string) string {
	clean := strings.NewReplacer("/", "_", ":", "_").Replace(user)
	return c.path(clean + ".kubeconfig")
}

// writeKubeconfigs writes the administrator's and those of the cluster's own
// parts.
func (c *Cluster) writeKubeconfigs() error {
	if _, err := c.writeKubeconfig(adminUser, c.Config()); err != nil {
		return err
	}
	for _, user := range []string{controllersUser, kwokUser} {
		if _, err := c.KubeconfigFor(user, masters); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeKubeconfig(user string, cfg *rest.Config) (string, error) {
	name := c.cfg.Name
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{
		Token:                 cfg.BearerToken,
		ClientCertificateData: cfg.CertData,
		ClientKeyData:         cfg.KeyData,
	}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	file.CurrentContext = name
	path := c.kubeconfigPath(user)
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return path, nil
}
