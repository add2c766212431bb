#include "cluster_options.h"

#include "option_values.h"

namespace carina::cli {

void add_cluster_options(CLI::App& app, ClusterOptions& options, const std::string& item) {
  constexpr double kMaxSeconds = 1e7;
  CLI::Option* scheduler =
      app.add_option("--scheduler", options.scheduler,
                     "Share the work among the workers of a Dask cluster: tls://HOST:PORT or tcp://HOST:PORT; needs "
                     "Python with carina[sweep], and the same `carina` where workers are");
  for (CLI::Option* option :
       {app.add_option("--wait", options.wait_seconds, "Seconds to wait for a worker; default: 60")
            ->check(CLI::Range(0.0, kMaxSeconds)),
        app.add_option("--timeout", options.timeout_seconds,
                       "Seconds that a worker may take for one " + item + "; default: no limit")
            ->check(CLI::Range(0.0, kMaxSeconds)),
        app.add_option("--progress", options.progress, "Write the progress as JSON lines to this file; -: to stderr")
            ->check(path()),
        app.add_option("--performance-report", options.performance, "Write Dask's report of the cluster: an .html file")
            ->check(path()),
        app.add_option("--tls-ca", options.tls_ca, "The certificate authority of a tls:// cluster: a .pem file")
            ->check(path()),
        app.add_option("--tls-cert", options.tls_cert, "The certificate of this machine: a .pem file")->check(path()),
        app.add_option("--tls-key", options.tls_key, "Its key: a .pem file")->check(path())})
    option->needs(scheduler)->group("On a cluster");
  scheduler->group("On a cluster");
  for (CLI::Option* option :
       {app.add_flag("--identity", options.identity), app.add_flag("--describe", options.describe),
        app.add_flag("--only-kept", options.only_kept), app.add_option("--job", options.job)})
    option->group("");
}

}  // namespace carina::cli
