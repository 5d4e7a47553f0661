package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// webhook is the output of `axle webhooks create`.
type webhook struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

// addWebhook creates the webhook that the Git server calls on a push.
func (d *demo) addWebhook(ctx context.Context) error {
	out, err := d.axle(ctx, "webhooks", "create", "git", "--provider", "generic", "--repository", "fleet", "-o", "json")
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), &d.webhook)
}

// tell calls the webhook, as a Git server does after a push. A delivery with a body
// is accepted once, an empty one triggers a fetch each time.
func (d *demo) tell(ctx context.Context) error {
	sign := hmac.New(sha256.New, []byte(d.webhook.Secret))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.webhook.URL, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("X-Axle-Signature", "sha256="+hex.EncodeToString(sign.Sum(nil)))
	client, err := d.world.Hub.Client()
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answers %s: %s", response.Status, answer)
	}
	return nil
}

func (d *demo) change(ctx context.Context) (seconds float64, commit string, err error) {
	d.chapter("Push a change; the Git server calls the webhook, the hub hints, the API servers are watched")
	group, groupCtx := errgroup.WithContext(ctx)
	watching, stop := context.WithTimeout(groupCtx, 90*time.Second)
	defer stop()
	for _, cluster := range d.clusters {
		for _, s := range d.services {
			if err := d.watch(watching, group, cluster, s, "world"); err != nil {
				return 0, "", err
			}
		}
	}
	commit, err = d.world.Git.Commit(ctx, "fleet", "main", "greet the world", greeting("world"))
	if err != nil {
		return 0, "", err
	}
	pushed := time.Now()
	if err := d.tell(ctx); err != nil {
		return 0, "", err
	}
	d.say("commit %.8s is pushed: a manifest, a ConfigMap, a Kustomize base and a Helm value change", commit)
	if err := group.Wait(); err != nil {
		return 0, "", err
	}
	seconds = time.Since(pushed).Seconds()
	d.say("applied on %s: %.2f s after the push", strings.Join(d.clusters, " and "), seconds)
	_, err = d.axle(ctx, "services", "wait", "--all", "--revision", commit, "--timeout", "1m")
	return seconds, commit, err
}

// watch has the group wait until the API server itself shows a greeting.
func (d *demo) watch(ctx context.Context, group *errgroup.Group, cluster string, s service, text string) error {
	client, err := kubernetes.NewForConfig(d.world.Cluster(cluster).Config())
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(s.look[0], "/")
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + name}
	var events watch.Interface
	if kind == "configmap" {
		events, err = client.CoreV1().ConfigMaps(s.name).Watch(ctx, options)
	} else {
		events, err = client.AppsV1().Deployments(s.name).Watch(ctx, options)
	}
	if err != nil {
		return err
	}
	group.Go(func() error {
		defer events.Stop()
		for event := range events.ResultChan() {
			object, err := json.Marshal(event.Object)
			if err != nil {
				return err
			}
			var seen struct {
				Data     map[string]string
				Metadata struct{ Annotations map[string]string }
			}
			if err := json.Unmarshal(object, &seen); err != nil {
				return err
			}
			if seen.Data["greeting"] == text || seen.Metadata.Annotations["greeting"] == text {
				return nil
			}
		}
		return fmt.Errorf("%s/%s did not say %q within 90 s", cluster, s.name, text)
	})
	return nil
}
