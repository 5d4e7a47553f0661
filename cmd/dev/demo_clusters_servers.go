package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// reach writes the kubeconfig of a cluster, which the provider put on the management cluster.
func (d *templates) reach(ctx context.Context, c *made) error {
	if c.direct.kubeconfig != "" {
		return nil
	}
	secret, err := d.world.Kubectl(ctx, management, "get", "secret", c.name+"-kubeconfig", "--namespace", c.namespace, "-o", "go-template={{.data.value | base64decode}}")
	if err != nil {
		return err
	}
	file := filepath.Join(d.world.Dir, c.name+".kubeconfig")
	if err := os.WriteFile(file, []byte(secret.Out), 0o600); err != nil {
		return err
	}
	c.direct = way{d.demo, file}
	return nil
}

// machinesThere are the phase on the management cluster, and the nodes of the cluster itself.
func (d *templates) machinesThere(ctx context.Context, c *made) (string, error) {
	phase, err := d.world.Kubectl(ctx, management, "get", "clusters.cluster.x-k8s.io", c.name, "--namespace", c.namespace, "-o", "jsonpath={.status.phase}")
	if err != nil {
		return "", err
	}
	out, err := c.direct.kubectl(ctx, "get", "nodes", "-o", "json")
	if err != nil {
		return "", err
	}
	var list corev1.NodeList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return "", err
	}
	ready, all, versions := 0, 0, []string(nil)
	for _, n := range list.Items {
		if !strings.HasPrefix(n.Spec.ProviderID, template+"://") {
			continue // the node on which pods run is no machine
		}
		all++
		if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
		if version := n.Status.NodeInfo.KubeletVersion; !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	return machines(phase.Out, ready, all, versions), nil
}

// identityThere is the cluster's id in the Secret of its own agent.
func (d *templates) identityThere(ctx context.Context, c *made) (string, error) {
	if err := d.reach(ctx, c); err != nil {
		return "", err
	}
	out, err := c.direct.kubectl(ctx, "get", "secret", "axle-agent-identity", "--namespace", "axle-system", "-o", `go-template={{index .data "identity.json" | base64decode}}`)
	if err != nil {
		return "", err
	}
	var identity struct {
		ClusterID string `json:"clusterID"`
	}
	if err := json.Unmarshal([]byte(out), &identity); err != nil {
		return "", err
	}
	return "agent of " + identity.ClusterID, nil
}

func (d *templates) identityKnown(ctx context.Context, c *made) (string, error) {
	r, err := d.known(ctx, c)
	if err == nil && r.Freshness != "Fresh" {
		err = fmt.Errorf("%s is %s", c.name, r.Freshness)
	}
	return "agent of " + r.ID, err
}

// greets is the greeting of the global service.
const greets = "hello"

// objectsThere are those of the global service, once they are available and of the commit.
func (d *templates) objectsThere(ctx context.Context, c *made) (string, error) {
	out, err := c.direct.kubectl(ctx, "get", "deployments,services,configmaps", "--namespace", talker, "-l", managedLabel, "-o", "json")
	if err != nil {
		return "", err
	}
	var list struct {
		Items []owned `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return "", err
	}
	if health, _ := judge(list.Items, talker); health != "Healthy" {
		return "", fmt.Errorf("the service is %s", health)
	}
	var names []string
	for _, o := range list.Items {
		if have := o.Metadata.Annotations["greeting"]; have != greets {
			return "", fmt.Errorf("the greeting is %q", have)
		}
		names = append(names, o.Kind+"/"+o.Metadata.Name)
	}
	return strings.Join(names, ", "), nil
}

// objectsReported are the same as the hub has them.
func (d *templates) objectsReported(ctx context.Context, c *made) (string, error) {
	result, err := d.world.Axle(ctx, "services", "get", c.name+"/"+talker, "-o", "json")
	if err != nil {
		return "", err
	}
	var service struct {
		Sync       string `json:"sync"`
		Health     string `json:"health"`
		Components []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"components"`
	}
	if err := json.Unmarshal([]byte(result.Out), &service); err != nil {
		return "", err
	}
	if service.Sync != "Synced" || service.Health != "Healthy" {
		return "", fmt.Errorf("the service is %s and %s", service.Sync, service.Health)
	}
	var names []string
	for _, o := range service.Components {
		names = append(names, o.Kind+"/"+o.Name)
	}
	return strings.Join(names, ", "), nil
}

// gone is the answer when nothing of a cluster is left.
const gone = "gone"

// goneThere looks for its namespace, its objects and its API server.
func (d *templates) goneThere(ctx context.Context, c *made) (string, error) {
	if d.provider.Cluster(c.namespace, c.name) != nil {
		return "its API server runs", nil
	}
	left, err := d.world.Kubectl(ctx, management, "get", "namespaces,clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io", "--all-namespaces",
		"-o", `jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {end}`)
	if err != nil {
		return "", err
	}
	for _, name := range strings.Fields(left.Out) {
		if strings.Contains(name, "/"+c.namespace+"/") || strings.HasSuffix(name, "/"+c.namespace) {
			return name, nil
		}
	}
	return gone, nil
}

func (d *templates) goneFromHub(ctx context.Context, c *made) (string, error) {
	result, err := d.world.Axle(ctx, "clusters", "list", "-o", "name")
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Fields(result.Out), c.name) {
		return "it is in the list", nil
	}
	return gone, nil
}
