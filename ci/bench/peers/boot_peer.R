# The statistics of ci/bench/statistics.cpp with R: the bootstrap of the mean of 8 metrics x 200 seeds x 10,000 resamples
# with package boot, or the exact Mann-Whitney test. Prints the seconds of that and the answers: of the bootstrap the 5 %
# and 95 % points of the studentised means, made afterwards.
# Usage: Rscript boot_peer.R bootstrap|mann-whitney FILE (one sample a line)
arguments <- commandArgs(trailingOnly = TRUE)
options(digits = 17)
set.seed(1)
data <- t(as.matrix(read.csv(arguments[2], header = FALSE)))
if (arguments[1] == "bootstrap") {
  library(boot)
  begin <- proc.time()[["elapsed"]]
  boot(data, function(d, i) colMeans(d[i, , drop = FALSE]), R = 10000)
  seconds <- proc.time()[["elapsed"]] - begin
  answers <- apply(data, 2, function(x) {
    drawn <- matrix(sample(x, 10000 * length(x), replace = TRUE), ncol = length(x))
    m <- rowMeans(drawn)
    s <- sqrt((rowMeans(drawn^2) - m^2) / (length(x) - 1))
    quantile((m - mean(x)) / s, c(0.05, 0.95))
  })
} else {
  begin <- proc.time()[["elapsed"]]
  answers <- wilcox.test(data[, 1], data[, 2], exact = TRUE)$p.value
  seconds <- proc.time()[["elapsed"]] - begin
}
cat(seconds, as.vector(answers), "\n")
