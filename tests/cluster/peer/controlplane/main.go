// Controlplane starts a real etcd and a real kube-apiserver (v1.36) in one
// process, on the loopback interface, for tests. It prints one JSON line
// {"kubeconfig": "...", "server": "https://127.0.0.1:PORT"} on stdout when the
// API server answers /readyz, and then runs until its standard input closes or
// it gets SIGTERM. It needs no root, no container and no network.
//
//	go run ./controlplane --dir DIR [--feature-gates A=true] [--scheduler [--scheduler-config FILE]]
//
// With --scheduler it also runs the real kube-scheduler, in a process of its
// own, as the peer to compare or to race against. "controlplane kube-scheduler
// FLAGS" runs that alone.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const adminToken = "schedscope-test-admin"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "kube-scheduler" {
		cmd := scheduler.NewSchedulerCommand()
		cmd.SetArgs(os.Args[2:])
		if err := cmd.Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	dir := flag.String("dir", "", "empty folder for etcd's data, the certificates and the kubeconfig (default: a new temporary folder)")
	gates := flag.String("feature-gates", "", "feature gates of the API server and the scheduler")
	runtimeConfig := flag.String("runtime-config", "api/all=true", "API groups and versions served")
	withScheduler := flag.Bool("scheduler", false, "also run the real kube-scheduler")
	fixedPort := flag.Int("port", 0, "port of the API server (default: a free one)")
	tokens := flag.String("tokens", "", "file with further tokens, in the format of --token-auth-file")
	audit := flag.Bool("audit", false, "write every request that is not a read of the API server's own to audit.log in the folder")
	more := flag.String("apiserver-flags", "", "further flags of the API server, with blanks between them")
	schedulerConfig := flag.String("scheduler-config", "", "KubeSchedulerConfiguration for --scheduler")
	flag.Parse()
	if err := run(*dir, *gates, *runtimeConfig, *withScheduler, *schedulerConfig, *fixedPort, *tokens, *audit, strings.Fields(*more)); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(dir, gates, runtimeConfig string, withScheduler bool, schedulerConfig string, port int, tokens string, audit bool, more []string) error {
	if dir == "" {
		d, err := os.MkdirTemp("", "schedscope-controlplane-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(d)
		dir = d
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	etcdURL, closeEtcd, err := startEtcd(filepath.Join(dir, "etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer closeEtcd()

	if port == 0 {
		if port, err = freePort(); err != nil {
			return err
		}
	}
	args, err := apiserverArgs(dir, etcdURL, port, gates, runtimeConfig, tokens)
	if err != nil {
		return err
	}
	if audit {
		policy := filepath.Join(dir, "audit-policy.yaml")
		text := "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- level: Metadata\n"
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			return err
		}
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+filepath.Join(dir, "audit.log"), "--audit-log-mode=blocking")
	}
	args = append(args, more...)
	failed := make(chan error, 2)
	go func() {
		cmd := apiserver.NewAPIServerCommand()
		cmd.SilenceUsage = true
		cmd.SetArgs(args)
		failed <- fmt.Errorf("kube-apiserver: %w", errors.Join(cmd.ExecuteContext(ctx), errors.New("ended")))
	}()

	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(kubeconfig, server, filepath.Join(dir, "certs", "apiserver.crt")); err != nil {
		return err
	}
	if err := waitReady(ctx, kubeconfig, failed); err != nil {
		return err
	}
	if withScheduler {
		sargs := []string{"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"}
		if schedulerConfig != "" {
			sargs = []string{"--config=" + schedulerConfig, "--bind-address=127.0.0.1", "--secure-port=0"}
		}
		if gates != "" {
			sargs = append(sargs, "--feature-gates="+gates)
		}
		// A process of its own: gates and logging are global, and its cost can be measured apart.
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, append([]string{"kube-scheduler"}, sargs...)...)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := cmd.Start(); err != nil {
			return err
		}
		defer cmd.Process.Signal(syscall.SIGTERM)
		go func() { failed <- fmt.Errorf("kube-scheduler: %w", errors.Join(cmd.Wait(), errors.New("ended"))) }()
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"kubeconfig": kubeconfig, "server": server}); err != nil {
		return err
	}

	stdinClosed := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(stdinClosed) }()
	select {
	case <-ctx.Done():
	case <-stdinClosed:
	case err := <-failed:
		return err
	}
	return nil
}

func startEtcd(dir string) (clientURL string, closeFn func(), err error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	cfg.UnsafeNoFsync = true // test data: speed over durability
	client, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	cp, err := freePort()
	if err != nil {
		return "", nil, err
	}
	pp, err := freePort()
	if err != nil {
		return "", nil, err
	}
	client.Host = fmt.Sprintf("127.0.0.1:%d", cp)
	peer := url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", pp)}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return client.String(), e.Close, nil
	case <-time.After(60 * time.Second):
		e.Close()
		return "", nil, errors.New("not ready after 60 s")
	}
}

func apiserverArgs(dir, etcdURL string, port int, gates, runtimeConfig, moreTokens string) ([]string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	keyFile := filepath.Join(dir, "service-account.key")
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(keyFile, block, 0o600); err != nil {
		return nil, err
	}
	tokens := filepath.Join(dir, "tokens.csv")
	known := []byte(adminToken + `,admin,admin,"system:masters"` + "\n")
	if moreTokens != "" {
		more, err := os.ReadFile(moreTokens)
		if err != nil {
			return nil, err
		}
		known = append(known, more...)
	}
	if err := os.WriteFile(tokens, known, 0o600); err != nil {
		return nil, err
	}
	args := []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(dir, "certs"),
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://schedscope.test",
		"--service-account-key-file=" + keyFile,
		"--service-account-signing-key-file=" + keyFile,
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--endpoint-reconciler-type=none",
		"--runtime-config=" + runtimeConfig,
		"-v=0",
	}
	if gates != "" {
		args = append(args, "--feature-gates="+gates)
	}
	return args, nil
}

func writeKubeconfig(file, server, _ string) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["test"] = &clientcmdapi.Cluster{Server: server, InsecureSkipTLSVerify: true}
	cfg.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: adminToken}
	cfg.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "admin", Namespace: "default"}
	cfg.CurrentContext = "test"
	return clientcmd.WriteToFile(*cfg, file)
}

func waitReady(ctx context.Context, kubeconfig string, failed <-chan error) error {
	rc, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := rest.HTTPClientFor(rc)
	if err != nil {
		return err
	}
	deadline := time.After(120 * time.Second)
	for {
		if resp, err := client.Get(rc.Host + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return errors.New("kube-apiserver not ready after 120 s")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
