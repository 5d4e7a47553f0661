package certificate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/errcode"
)

// publishTimeout bounds one attempt of Publish.
const publishTimeout = 10 * time.Second

// Publish writes the certificates of a PEM file to the key ca.pem of a ConfigMap,
// NAMESPACE/NAME, of the cluster that the hub itself runs in. The key of an authority
// is in another file and never leaves the hub.
func Publish(ctx context.Context, configMap, file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the certificate authority: %w", err)
	}
	namespace, name, ok := strings.Cut(configMap, "/")
	if !ok || namespace == "" || name == "" {
		return errcode.New(errcode.Invalid, "--ca-configmap %q is not NAMESPACE/NAME", configMap)
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the hub's own cluster: %w", err)
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{AuthorityFile: string(pem)},
		"metadata": map[string]any{"name": name, "namespace": namespace, "labels": map[string]string{"app.kubernetes.io/part-of": "axle"}},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	return apply(ctx, config, "/api/v1/namespaces/"+namespace+"/configmaps/"+name, object)
}

// apply writes one object server-side, with no more of a client than this needs.
func apply(ctx context.Context, config *rest.Config, path string, object []byte) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("reach the hub's own cluster: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, strings.TrimSuffix(config.Host, "/")+path+"?fieldManager=axle-hub&force=true", bytes.NewReader(object))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
		return fmt.Errorf("%s answers %s: %s", path, answer.Status, said)
	}
	return nil
}
