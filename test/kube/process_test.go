package kube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

// processes is one cluster with a process kubelet that runs greeter.
type processes struct {
	*kube.Cluster
	api       *kubernetes.Clientset
	namespace string
}

func newProcesses(t *testing.T, cfg kube.ClusterConfig) processes {
	t.Helper()
	greeter, err := bin.Path(t.Context(), "greeter", bin.Options{Package: "./test/kube/testdata/greeter"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Controllers, cfg.Binaries = true, map[string]string{"greeter": greeter}
	cluster := kube.New(t, cfg)
	return processes{Cluster: cluster, api: client(t, cluster.Config()), namespace: cluster.Namespace(t)}
}

// kubectl runs it as the administrator in the test's namespace. The error holds its
// standard error, which also contains harmless warnings.
func (p processes) kubectl(t *testing.T, stdin io.Reader, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", p.Kubeconfig(), "-n", p.namespace}, args...)...)
	cmd.Stdin = stdin
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &errs)
	}
	return string(out), err
}

// run creates a pod and waits until it satisfies the condition.
func (p processes) run(t *testing.T, pod *corev1.Pod, condition func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	// Admission refuses pods until the namespace has its service account.
	eventually.For(t, limit, "create "+pod.Name, func() error {
		_, err := p.api.CoreV1().Pods(p.namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		return err
	})
	return p.wait(t, pod.Name, condition)
}

func (p processes) wait(t *testing.T, name string, condition func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually.For(t, limit, "pod "+name, func() error {
		var err error
		pod, err = p.api.CoreV1().Pods(p.namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && !condition(pod) {
			err = fmt.Errorf("status %+v", pod.Status)
		}
		return err
	})
	return pod
}

// metrics are what the kubelet serves as cAdvisor does.
func (p processes) metrics(t *testing.T) string {
	t.Helper()
	config, err := p.ConfigFor("scraper")
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.KubeletAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + address + "/metrics/cadvisor")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v: %s", resp.Status, err, text)
	}
	return string(text)
}

func greeterPod(name string, policy corev1.RestartPolicy, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{
			Name: "greeter", Image: "axle.test/greeter:v1", Args: args,
		}}},
	}
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestProcessPods(t *testing.T) {
	p := newProcesses(t, kube.ClusterConfig{Kwok: true})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login"}, StringData: map[string]string{"password": "sesame"}}
	if _, err := p.api.CoreV1().Secrets(p.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := greeterPod("web", corev1.RestartPolicyAlways, "-read=/etc/login/password", "-write=/scratch/file", "-listen=$(POD_IP):8080")
	c := &pod.Spec.Containers[0]
	c.Env = []corev1.EnvVar{
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "GREETING", Value: "good-day"},
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "login"}, Key: "password",
		}}},
	}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: port(8080)}}}
	c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "login", MountPath: "/etc/login"}, {Name: "scratch", MountPath: "/scratch"}}
	pod.Spec.Volumes = []corev1.Volume{
		{Name: "login", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	p.run(t, pod, ready)

	t.Run("logs", func(t *testing.T) {
		out, err := p.kubectl(t, nil, "logs", "web")
		for _, want := range []string{
			"hello from web, greeting=good-day secret=sesame\n", "this goes to stderr\n",
			`file /etc/login/password: "sesame" err=<nil>`, "wrote /scratch/file: err=<nil>",
		} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("logs (%v) lack %q:\n%s", err, want, out)
			}
		}
		// Two pipes have no order between them, here as in a real runtime: which
		// line came last is asked of the log.
		whole, err := p.kubectl(t, nil, "logs", "web", "--timestamps")
		if err != nil || !regexp.MustCompile(`(?m)^20\S+Z wrote /scratch/file: err=<nil>$`).MatchString(whole) {
			t.Errorf("the lines with their times are %q, %v", whole, err)
		}
		last := whole[strings.LastIndexByte(strings.TrimSuffix(whole, "\n"), '\n')+1:]
		if out, err = p.kubectl(t, nil, "logs", "web", "--tail=1", "--timestamps"); err != nil || out != last {
			t.Errorf("the last line is %q, %v, want %q", out, err, last)
		}
	})
	for name, test := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"exec sees the mounts":            {"", []string{"sh", "-c", "cat /etc/login/password /scratch/file"}, "sesamewritten"},
		"exec passes input":               {"over here", []string{"cat"}, "over here"},
		"exec sees its processes alone":   {"", []string{"sh", "-c", "readlink /proc/1/exe"}, "/usr/local/bin/greeter\n"},
		"exec has the pod's variables":    {"", []string{"sh", "-c", "echo $GREETING $KUBERNETES_SERVICE_HOST"}, "good-day 127.0.0.1\n"},
		"a token is where clients look":   {"", []string{"sh", "-c", "ls /var/run/secrets/kubernetes.io/serviceaccount"}, "ca.crt\nnamespace\ntoken\n"},
		"the root refuses to be written":  {"", []string{"sh", "-c", "touch /etc/mark 2>/dev/null || echo refused"}, "refused\n"},
		"a Secret refuses to be written":  {"", []string{"sh", "-c", "touch /etc/login/more 2>/dev/null || echo refused"}, "refused\n"},
		"the token is the pod's own user": {"", []string{"sh", "-c", askWhoAmI}, "system:serviceaccount:" + p.namespace + ":default\n"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := p.kubectl(t, strings.NewReader(test.stdin), append([]string{"exec", "-i", "web", "--"}, test.args...)...)
			if err != nil || out != test.want {
				t.Errorf("exec %q says %q (%v), want %q", test.args, out, err, test.want)
			}
		})
	}
	t.Run("exec tells the exit code", func(t *testing.T) {
		if _, err := p.kubectl(t, nil, "exec", "web", "--", "sh", "-c", "exit 7"); err == nil || !strings.Contains(err.Error(), "exit code 7") {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("a terminal", func(t *testing.T) {
		// kubectl asks for a terminal only where it has one; script gives it one.
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		line := fmt.Sprintf("kubectl --kubeconfig %s -n %s exec -it web -- sh -c 'test -t 1 && echo on a $(ps -o tty= -p $$ | cut -c1-3)'", p.Kubeconfig(), p.namespace)
		out, err := exec.CommandContext(ctx, "script", "-qec", line, "/dev/null").CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("on a pts")) {
			t.Errorf("exec -it says %q, %v", out, err)
		}
	})
	t.Run("what its processes use", func(t *testing.T) {
		text := p.metrics(t)
		for _, name := range []string{"container_cpu_usage_seconds_total", "container_memory_working_set_bytes", "container_start_time_seconds"} {
			series := regexp.MustCompile(`(?m)^` + name + `\{[^}]*container="greeter"[^}]*namespace="` + p.namespace + `",pod="web"\} (\S+)$`)
			found := series.FindStringSubmatch(text)
			if found == nil {
				t.Fatalf("no %s of the pod:\n%s", name, text)
			}
			if value, err := strconv.ParseFloat(found[1], 64); err != nil || name != "container_cpu_usage_seconds_total" && value < 1<<20 {
				t.Errorf("%s is %s, %v", name, found[1], err)
			}
		}
		if !regexp.MustCompile(`container_network_receive_bytes_total\{[^}]*pod="web"\} [1-9]`).MatchString(text) {
			t.Errorf("no network of the pod:\n%s", text)
		}
	})
	t.Run("cp", func(t *testing.T) {
		to := filepath.Join(t.TempDir(), "copy")
		if out, err := p.kubectl(t, nil, "cp", "web:/scratch/file", to); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	t.Run("port-forward", func(t *testing.T) { portForward(t, p) })
	t.Run("a Secret's change arrives", func(t *testing.T) {
		secret.StringData["password"] = "changed"
		if _, err := p.api.CoreV1().Secrets(p.namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, limit, "the new content", func() error {
			out, err := p.kubectl(t, nil, "exec", "web", "--", "cat", "/etc/login/password")
			if err == nil && out != "changed" {
				err = fmt.Errorf("it is %q", out)
			}
			return err
		})
	})
	t.Run("deletion ends it", func(t *testing.T) {
		follow := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig", p.Kubeconfig(), "-n", p.namespace, "logs", "-f", "web")
		out, err := follow.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := follow.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it follows now
			t.Fatal(err)
		}
		if out, err := p.kubectl(t, nil, "delete", "pod", "web", "--wait"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		log, err := io.ReadAll(out)
		if err := errors.Join(err, follow.Wait()); err != nil {
			t.Error(err)
		}
		if !bytes.HasSuffix(log, []byte("goodbye\n")) {
			t.Errorf("the log ends without the program's last word:\n%s", log)
		}
		if _, err := p.api.CoreV1().Pods(p.namespace).Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pod is still there: %v", err)
		}
	})
	t.Run("a crash loop is counted", func(t *testing.T) {
		crashed := p.run(t, greeterPod("crash", corev1.RestartPolicyAlways, "-exit=3"), func(pod *corev1.Pod) bool {
			s := pod.Status.ContainerStatuses
			return len(s) == 1 && s[0].RestartCount >= 2 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "CrashLoopBackOff"
		})
		last := crashed.Status.ContainerStatuses[0].LastTerminationState.Terminated
		if last == nil || last.ExitCode != 3 || last.Reason != "Error" {
			t.Errorf("the last state is %+v, want exit code 3", last)
		}
		if out, err := p.kubectl(t, nil, "logs", "--previous", "crash"); err != nil || !strings.Contains(out, "hello from crash") {
			t.Errorf("previous log: %v\n%s", err, out)
		}
	})
	t.Run("a pod may succeed or fail for good", func(t *testing.T) {
		p.run(t, greeterPod("good", corev1.RestartPolicyNever, "-exit=0"), func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
		p.run(t, greeterPod("bad", corev1.RestartPolicyNever, "-exit=1"), func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	})
	t.Run("attach reaches a program's input and output", func(t *testing.T) {
		cat := greeterPod("cat", corev1.RestartPolicyNever)
		cat.Spec.Containers[0].Command, cat.Spec.Containers[0].Stdin, cat.Spec.Containers[0].StdinOnce = []string{"cat"}, true, true
		p.run(t, cat, ready)
		if out, err := p.kubectl(t, strings.NewReader("over here\n"), "attach", "-i", "-q", "cat"); err != nil || !strings.Contains(out, "over here") {
			t.Errorf("attach says %q, %v", out, err)
		}
		p.wait(t, "cat", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	})
	t.Run("a failing liveness probe restarts", func(t *testing.T) {
		sick := greeterPod("sick", corev1.RestartPolicyAlways)
		sick.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{
			Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/no/such/file"}},
		}}
		p.run(t, sick, func(pod *corev1.Pod) bool {
			return len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 0
		})
	})
	t.Run("init containers come first and share volumes", func(t *testing.T) {
		pod := greeterPod("after-init", corev1.RestartPolicyNever, "-read=/shared/file", "-exit=0")
		mounts := []corev1.VolumeMount{{Name: "shared", MountPath: "/shared"}}
		pod.Spec.Containers[0].VolumeMounts = mounts
		pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "axle.test/greeter:v1", Args: []string{"-write=/shared/file", "-exit=0"}, VolumeMounts: mounts}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "shared", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		p.run(t, pod, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
		if out, err := p.kubectl(t, nil, "logs", "after-init", "-c", "greeter"); err != nil || !strings.Contains(out, `file /shared/file: "written" err=<nil>`) {
			t.Errorf("the log is %q, %v", out, err)
		}
	})
	t.Run("a pod runs as the user it asks for", func(t *testing.T) {
		pod := greeterPod("modest", corev1.RestartPolicyAlways, "-read=/etc/login/password", "-write=/scratch/file")
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65533)), FSGroup: new(int64(65534))}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "login", MountPath: "/etc/login"}, {Name: "scratch", MountPath: "/scratch"}}
		pod.Spec.Volumes = []corev1.Volume{
			{Name: "login", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login", DefaultMode: new(int32(0o400))}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}
		p.run(t, pod, ready)
		eventually.For(t, limit, "the log", func() error {
			out, err := p.kubectl(t, nil, "logs", "modest")
			if err == nil && (!strings.Contains(out, `file /etc/login/password: "changed" err=<nil>`) || !strings.Contains(out, "wrote /scratch/file: err=<nil>")) {
				err = fmt.Errorf("it is %q", out)
			}
			return err
		})
		if out, err := p.kubectl(t, nil, "exec", "modest", "--", "sh", "-c", "id -u; stat -c %u:%g /proc/1; cat /var/run/secrets/kubernetes.io/serviceaccount/namespace"); err != nil || out != "65532\n65532:65533\n"+p.namespace {
			t.Errorf("exec says %q, %v", out, err)
		}
	})
	t.Run("an unknown image waits for its binary", func(t *testing.T) {
		later := greeterPod("later", corev1.RestartPolicyAlways)
		later.Spec.Containers[0].Image = "axle.test/other:v2"
		p.run(t, later, func(pod *corev1.Pod) bool {
			s := pod.Status.ContainerStatuses
			return len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "ErrImagePull"
		})
		p.SetBinary("other:v2", "/bin/sh")
		p.wait(t, "later", func(pod *corev1.Pod) bool { return pod.Status.ContainerStatuses[0].RestartCount > 0 })
	})
	t.Run("a Deployment of processes is available over a restart of the API server", func(t *testing.T) {
		createDeployment(t, p.api, p.namespace, "deployed", greeterPod("", corev1.RestartPolicyAlways).Spec)
		p.Stop()
		if _, err := p.api.AppsV1().Deployments(p.namespace).Get(t.Context(), "deployed", metav1.GetOptions{}); err == nil {
			t.Error("a stopped API server answers")
		}
		if err := p.Restart(t.Context()); err != nil { // on the same address, with the same data
			t.Fatal(err)
		}
		eventually.For(t, limit, "available replicas", func() error {
			d, err := p.api.AppsV1().Deployments(p.namespace).Get(t.Context(), "deployed", metav1.GetOptions{})
			if err == nil && d.Status.AvailableReplicas != 1 {
				err = fmt.Errorf("status %+v", d.Status)
			}
			return err
		})
	})
}

func TestPlainProcessesFindTheirVolumes(t *testing.T) {
	p := newProcesses(t, kube.ClusterConfig{PlainProcesses: true})
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"word": "plain"}}
	if _, err := p.api.CoreV1().ConfigMaps(p.namespace).Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := greeterPod("plain", corev1.RestartPolicyAlways, "-read=/etc/settings/word")
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
	}}}}
	p.run(t, pod, ready)
	eventually.For(t, limit, "the log", func() error {
		out, err := p.kubectl(t, nil, "logs", "plain")
		if err == nil && !regexp.MustCompile(`file /tmp/.*: "plain" err=<nil>`).MatchString(out) {
			err = fmt.Errorf("it is %q", out)
		}
		return err
	})
	if out, err := p.kubectl(t, nil, "exec", "plain", "--", "greeter", "-exit=4"); err == nil || !strings.Contains(err.Error(), "exit code 4") || !strings.Contains(out, "hello from") {
		t.Errorf("exec says %q, %v", out, err)
	}
	if out, err := p.kubectl(t, nil, "delete", "pod", "plain", "--wait"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// askWhoAmI asks the API server by the pod's own token, found as client-go
// finds it.
const askWhoAmI = `d=/var/run/secrets/kubernetes.io/serviceaccount
kubectl --server https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT --certificate-authority $d/ca.crt --token "$(cat $d/token)" auth whoami -o jsonpath='{.status.userInfo.username}{"\n"}'`

// portForward asks for the page through kubectl port-forward.
func portForward(t *testing.T, p processes) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", "--kubeconfig", p.Kubeconfig(), "-n", p.namespace, "port-forward", "web", ":8080")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cancel()
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(line[:n])
	if found == nil {
		t.Fatalf("port-forward says %q", line[:n])
	}
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Get("http://" + string(found))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "a page\n" {
		t.Errorf("the page is %q, %v", body, err)
	}
}

func port(number int32) intstr.IntOrString { return intstr.FromInt32(number) }
